package headrace.kernel.table;

import java.util.Iterator;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.collection.IterableOnce;
import scala.collection.immutable.Seq;

/**
 * Blocks -> rows: what an operator gave, change by change, with the rows before and after as structs. Of what is no block of changes
 * there are none.
 *
 * <p>Nothing is copied here: the block is read where Spark holds it, and the structs point into it. Spark copies each row when it comes.
 */
public final class Scatter extends TableGenerator {
  private final StructType type;
  private final boolean pairs;

  Scatter(StructType type, boolean pairs, Seq<Expression> children) {
    super(children);
    this.type = type;
    this.pairs = pairs;
  }

  public static Column column(Column block, StructType type, boolean pairs) {
    return ExpressionUtils.column(new Scatter(type, pairs, expressions(block)));
  }

  /** What is given, of rows of these types; those of {@link Pair}s have two fields, both structs. */
  static StructType type(StructType before, StructType after) {
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
  public IterableOnce<InternalRow> eval(InternalRow input) {
    UnsafeRow given = (UnsafeRow) input;
    long place = given.getLong(((BoundReference) children().head()).ordinal());
    long offset = given.getBaseOffset() + (place >>> 32);
    if ((Platform.getByte(given.getBaseObject(), offset) & Block.NO_CHANGES) != 0) return none();
    Block block = new Block(given.getBaseObject(), offset, (int) place);
    Struct before = struct(4);
    Struct after = struct(5);
    SpecificInternalRow row = new SpecificInternalRow(type);
    return iterator(
        new Iterator<>() {
          private boolean has = block.next();

          @Override
          public boolean hasNext() {
            return has;
          }

          @Override
          public InternalRow next() {
            row.setLong(0, block.time());
            row.setLong(1, block.beforeTime());
            if (block.version() == Block.NO_VERSION) row.setNullAt(2);
            else row.setLong(2, block.version());
            row.setLong(3, block.sequence());
            row.update(4, block.before(before));
            row.update(5, block.after(after));
            has = block.next();
            return row;
          }
        });
  }

  private Struct struct(int field) {
    return Struct.of((StructType) type.apply(field).dataType(), pairs);
  }

  @Override
  protected TableGenerator with(Seq<Expression> children) {
    return new Scatter(type, pairs, children);
  }

  @Override
  public String prettyName() {
    return "headrace_scatter";
  }
}
