package headrace.kernel.block;

import java.util.NoSuchElementException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Blocks -> rows: the changes that an operator emitted, one a row, with the rows before and after
 * as structs.
 *
 * <pre>
 * for each block, unless it holds a count:
 *   for each change in it: emit time, time before, version, sequence, row before, row after
 * </pre>
 *
 * <p>Nothing is copied: the block is read where Spark holds it, and the structs point into it.
 */
public final class Scatter extends BlockGenerator {
  private final StructType type;
  private final boolean pairs;

  Scatter(StructType type, boolean pairs, boolean atOnce, Seq<Expression> children) {
    super(atOnce, children);
    this.type = type;
    this.pairs = pairs;
  }

  public static Column column(Column block, StructType type, boolean pairs, boolean atOnce) {
    return ExpressionUtils.column(new Scatter(type, pairs, atOnce, expressions(block)));
  }

  /**
   * The type of the rows emitted, for rows before and after of these types; that of a {@link Pair}
   * has two fields, both structs.
   */
  public static StructType type(StructType before, StructType after) {
    return new StructType()
        .add("time", DataTypes.LongType)
        .add("before_time", DataTypes.LongType)
        .add("version", DataTypes.LongType)
        .add("sequence", DataTypes.LongType)
        .add("before", before)
        .add("after", after);
  }

  @Override
  public StructType elementSchema() {
    return type;
  }

  @Override
  BlockGenerator on(Seq<Attribute> input) {
    return with(BindReferences.bindReferences(children(), package$.MODULE$.AttributeSeq(input)));
  }

  @Override
  boolean emitsUnsafeRows() {
    return false;
  }

  @Override
  Iterator<InternalRow> rows(Iterator<InternalRow> input) {
    int column = ((BoundReference) children().head()).ordinal();
    Struct before = struct(4);
    Struct after = struct(5);
    SpecificInternalRow row = new SpecificInternalRow(type);
    return new AbstractIterator<>() {
      private Block block = new Block(new byte[0]);
      private boolean ready = false;

      /**
       * Reads no further than needed: the row returned last points into a block, which the next
       * input may overwrite.
       */
      @Override
      public boolean hasNext() {
        while (!ready && !(ready = block.next())) {
          if (!input.hasNext()) return false;
          block = changes((UnsafeRow) input.next(), column);
        }
        return true;
      }

      @Override
      public InternalRow next() {
        if (!hasNext()) throw new NoSuchElementException();
        ready = false;
        row.setLong(0, block.time());
        row.setLong(1, block.beforeTime());
        if (block.version() == Block.NO_VERSION) row.setNullAt(2);
        else row.setLong(2, block.version());
        row.setLong(3, block.sequence());
        row.update(4, block.before(before));
        row.update(5, block.after(after));
        return row;
      }
    };
  }

  /** The block in a row, read in place. */
  private static Block changes(UnsafeRow row, int column) {
    long place = row.getLong(column);
    long offset = row.getBaseOffset() + (place >>> 32);
    boolean any = (Platform.getByte(row.getBaseObject(), offset) & Block.NO_CHANGES) == 0;
    return new Block(row.getBaseObject(), offset, any ? (int) place : 0);
  }

  private Struct struct(int field) {
    return Struct.of((StructType) type.apply(field).dataType(), pairs);
  }

  @Override
  protected BlockGenerator with(Seq<Expression> children) {
    return new Scatter(type, pairs, atOnce, children);
  }

  @Override
  public String prettyName() {
    return "headrace_scatter";
  }
}
