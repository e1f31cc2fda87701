package headrace.kernel.table;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Rows with a key -> blocks: on the way to an operator all changes of a task that have the same key travel together.
 *
 * <p>Spark then shuffles, sorts and hands over a few large rows instead of many small ones. The columns: key before and after
 * (structs), side, time, time of the row before, version, sequence, row before and after (structs). A change that moves a row from one
 * key to another is two: a delete there, an insert here. Several changes can be side by side in one row; one without a side
 * or without keys is none.
 */
public final class Gather extends TableGenerator {
  public static final StructType TYPE = new StructType().add("key", DataTypes.BinaryType).add("block", DataTypes.BinaryType);
  private static final int KEY_BEFORE = 0, KEY_AFTER = 1, SIDE = 2, TIME = 3, BEFORE_TIME = 4, VERSION = 5, SEQUENCE = 6, BEFORE = 7, AFTER = 8, COLUMNS = 9;

  /** So much waits for company, in bytes. */
  private static final int MOST = 16 << 20;

  Gather(boolean atOnce, Seq<Expression> children) {
    super(atOnce, children);
  }

  /** With {@code atOnce} every row is a block of its own: nothing waits. */
  public static Column column(Column[] columns, boolean atOnce) {
    return ExpressionUtils.column(new Gather(atOnce, expressions(columns)));
  }

  @Override
  public StructType elementSchema() {
    return TYPE;
  }

  /** The input has these columns in this order. */
  @Override
  TableGenerator on(Seq<Attribute> input) {
    return this;
  }

  @Override
  Iterator<InternalRow> rows(Iterator<InternalRow> input) {
    return new Blocks(input);
  }

  /** Of a task. */
  private final class Blocks extends AbstractIterator<InternalRow> {
    private final Iterator<InternalRow> input;

    /** By side, because a block has changes of one side only. */
    private final List<HashMap<Key, BlockBuilder>> sides = List.of(new HashMap<>(), new HashMap<>());

    /** How many a struct has, by column. */
    private final int[] fields = new int[children().size()];

    private final GenericInternalRow row = new GenericInternalRow(2);
    private java.util.Iterator<Map.Entry<Key, BlockBuilder>> full = Collections.emptyIterator();
    private int size;

    Blocks(Iterator<InternalRow> input) {
      this.input = input;
      for (int i = 0; i < fields.length; i++) fields[i] = children().apply(i).dataType() instanceof StructType type ? type.size() : 0;
    }

    @Override
    public boolean hasNext() {
      while (!full.hasNext()) {
        if (!input.hasNext()) return false;
        size = 0;
        do {
          UnsafeRow next = (UnsafeRow) input.next();
          for (int lane = 0; lane < fields.length; lane += COLUMNS) gather(next, lane);
        } while (!atOnce && size <= MOST && input.hasNext());
        List<Map.Entry<Key, BlockBuilder>> all = new ArrayList<>();
        for (Map<Key, BlockBuilder> blocks : sides) {
          all.addAll(blocks.entrySet());
          blocks.clear();
        }
        full = all.iterator();
      }
      return true;
    }

    /** Each is built when it is asked for: then they are not all there twice. */
    @Override
    public InternalRow next() {
      if (!hasNext()) throw new NoSuchElementException();
      Map.Entry<Key, BlockBuilder> block = full.next();
      row.update(0, block.getKey().bytes());
      row.update(1, block.getValue().build());
      return row;
    }

    private void gather(UnsafeRow row, int lane) {
      if (row.isNullAt(lane + SIDE)) return;
      boolean was = !row.isNullAt(lane + KEY_BEFORE);
      boolean is = !row.isNullAt(lane + KEY_AFTER);
      Key before = was ? Key.of(struct(row, lane + KEY_BEFORE)) : null;
      Key after = is ? Key.of(struct(row, lane + KEY_AFTER)) : null;
      if (was && is && before.equals(after)) {
        add(after, row, lane, true, true);
      } else {
        if (was) add(before, row, lane, true, false);
        if (is) add(after, row, lane, false, true);
      }
    }

    private void add(Key key, UnsafeRow row, int lane, boolean withBefore, boolean withAfter) {
      byte side = (byte) row.getInt(lane + SIDE);
      HashMap<Key, BlockBuilder> blocks = sides.get(side);
      BlockBuilder block = blocks.get(key);
      if (block == null) blocks.put(key.kept(), block = new BlockBuilder(256));
      UnsafeRow before = withBefore && !row.isNullAt(lane + BEFORE) ? struct(row, lane + BEFORE) : null;
      UnsafeRow after = withAfter && !row.isNullAt(lane + AFTER) ? struct(row, lane + AFTER) : null;
      int was = block.size();
      block.add(
          side, row.getLong(lane + TIME), row.getLong(lane + BEFORE_TIME), row.getLong(lane + VERSION),
          row.getLong(lane + SEQUENCE),
          before == null ? null : before.getBaseObject(), before == null ? 0 : before.getBaseOffset(), before == null ? -1 : before.getSizeInBytes(),
          after == null ? null : after.getBaseObject(), after == null ? 0 : after.getBaseOffset(), after == null ? -1 : after.getSizeInBytes());
      size += block.size() - was;
    }

    private UnsafeRow struct(UnsafeRow row, int ordinal) {
      return row.getStruct(ordinal, fields[ordinal]);
    }
  }

  @Override
  protected TableGenerator with(Seq<Expression> children) {
    return new Gather(atOnce, children);
  }

  @Override
  public String prettyName() {
    return "headrace_gather";
  }
}
