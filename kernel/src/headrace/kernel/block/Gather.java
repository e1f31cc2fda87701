package headrace.kernel.block;

import java.util.ArrayDeque;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Rows with a key -> blocks: all changes of a task that have the same key travel to the operator
 * together.
 *
 * <pre>
 * for each row, for each change in it:
 *   if the key differs before and after: split it: a delete at one key, an insert at the other
 *   append it to the open block of its side and key
 *   if the block has 4 KB: it is full
 *   if all open blocks take 16 MB, or atOnce: all are full
 *   emit the full blocks
 * at the end: emit all blocks
 * </pre>
 *
 * <p>So Spark shuffles, sorts and hands over a few large rows instead of many small ones. The
 * columns: key before and after (structs), side, time, time of the row before, version, sequence,
 * row before and after (structs). A row can hold several changes side by side; one without a side
 * or without keys is absent.
 */
public final class Gather extends BlockGenerator {
  public static final StructType TYPE =
      new StructType().add("key", DataTypes.BinaryType).add("block", DataTypes.BinaryType);
  private static final int KEY_BEFORE = 0,
      KEY_AFTER = 1,
      SIDE = 2,
      TIME = 3,
      BEFORE_TIME = 4,
      VERSION = 5,
      SEQUENCE = 6,
      BEFORE = 7,
      AFTER = 8,
      COLUMNS = 9;

  /**
   * The size at which a block is full. A small block is still in the processor's cache when the
   * next change is added.
   */
  private static final int FULL = 4096;

  /** The memory that all open blocks may take, in bytes. */
  private static final int MOST = 16 << 20;

  Gather(boolean atOnce, Seq<Expression> children) {
    super(atOnce, children);
  }

  /** With {@code atOnce}, every change is a block of its own and nothing waits. */
  public static Column column(Column[] columns, boolean atOnce) {
    return ExpressionUtils.column(new Gather(atOnce, expressions(columns)));
  }

  @Override
  public StructType elementSchema() {
    return TYPE;
  }

  /** The input has these columns in this order. */
  @Override
  BlockGenerator on(Seq<Attribute> input) {
    return this;
  }

  @Override
  boolean emitsUnsafeRows() {
    return true;
  }

  @Override
  Iterator<InternalRow> rows(Iterator<InternalRow> input) {
    return new Filling(input);
  }

  /** The blocks of a task. */
  private final class Filling extends AbstractIterator<InternalRow> {
    private final Iterator<InternalRow> input;

    /** By side, because a block has changes of one side only. */
    private final KeyedBlocks[] sides = {new KeyedBlocks(), new KeyedBlocks()};

    /** The number of fields of each struct, by column. */
    private final int[] fields = new int[children().size()];

    private final ArrayDeque<KeyedBlock> full = new ArrayDeque<>();
    private final UnsafeRow row = new UnsafeRow(2);
    private KeyedBlock given;
    private int held = 0;

    Filling(Iterator<InternalRow> input) {
      this.input = input;
      for (int i = 0; i < fields.length; i++)
        fields[i] = children().apply(i).dataType() instanceof StructType type ? type.size() : 0;
    }

    @Override
    public boolean hasNext() {
      if (given != null) given.clear();
      given = null;
      while (full.isEmpty() && input.hasNext()) {
        UnsafeRow next = (UnsafeRow) input.next();
        for (int first = 0; first < fields.length; first += COLUMNS) gather(next, first);
        if (held > MOST || atOnce) all();
      }
      if (full.isEmpty()) all();
      return !full.isEmpty();
    }

    private void all() {
      full.clear();
      for (KeyedBlocks blocks : sides) blocks.moveTo(full);
      held = 0;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) throw new NoSuchElementException();
      given = full.poll();
      given.in(row);
      return row;
    }

    private void gather(UnsafeRow row, int first) {
      if (row.isNullAt(first + SIDE)) return;
      UnsafeRow before = struct(row, first + KEY_BEFORE);
      UnsafeRow after = struct(row, first + KEY_AFTER);
      if (before != null && before.equals(after)) {
        add(after, row, first, true, true);
      } else {
        if (before != null) add(before, row, first, true, false);
        if (after != null) add(after, row, first, false, true);
      }
    }

    private void add(
        UnsafeRow key, UnsafeRow row, int first, boolean withBefore, boolean withAfter) {
      byte side = (byte) row.getInt(first + SIDE);
      UnsafeRow before = withBefore ? struct(row, first + BEFORE) : null;
      UnsafeRow after = withAfter ? struct(row, first + AFTER) : null;
      int beforeLength = before == null ? -1 : before.getSizeInBytes();
      int afterLength = after == null ? -1 : after.getSizeInBytes();
      long hash = Key.hash(key);
      KeyedBlock block = sides[side].get(hash, key);
      if (block == null) {
        block =
            new KeyedBlock(
                hash, key, Block.HEAD + Math.max(beforeLength, 0) + Math.max(afterLength, 0));
        sides[side].add(block);
        held += block.capacity();
      }
      int capacity = block.capacity();
      boolean wasFull = block.size() >= FULL;
      block.add(
          side,
          row.getLong(first + TIME),
          row.getLong(first + BEFORE_TIME),
          row.getLong(first + VERSION),
          row.getLong(first + SEQUENCE),
          before == null ? null : before.getBaseObject(),
          before == null ? 0 : before.getBaseOffset(),
          beforeLength,
          after == null ? null : after.getBaseObject(),
          after == null ? 0 : after.getBaseOffset(),
          afterLength);
      held += block.capacity() - capacity;
      if (block.size() >= FULL && !wasFull) full.add(block);
    }

    /** Null if it is null. */
    private UnsafeRow struct(UnsafeRow row, int ordinal) {
      return row.isNullAt(ordinal) ? null : row.getStruct(ordinal, fields[ordinal]);
    }
  }

  @Override
  protected BlockGenerator with(Seq<Expression> children) {
    return new Gather(atOnce, children);
  }

  @Override
  public String prettyName() {
    return "headrace_gather";
  }
}
