package headrace.kernel.table;

import java.util.Iterator;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.IterableOnce;
import scala.collection.immutable.Seq;

/** Blocks -> rows: what an operator gave, change by change. */
public final class Scatter extends TableGenerator {
  public static final StructType TYPE =
      new StructType()
          .add("side", DataTypes.IntegerType)
          .add("time", DataTypes.LongType)
          .add("before_time", DataTypes.LongType)
          .add("version", DataTypes.LongType)
          .add("sequence", DataTypes.LongType)
          .add("before", DataTypes.BinaryType)
          .add("after", DataTypes.BinaryType);

  Scatter(Seq<Expression> children) {
    super(children);
  }

  public static Column column(Column block) {
    return ExpressionUtils.column(new Scatter(expressions(block)));
  }

  @Override
  public StructType elementSchema() {
    return TYPE;
  }

  @Override
  public IterableOnce<InternalRow> eval(InternalRow input) {
    Block block = new Block((byte[]) children().head().eval(input));
    GenericInternalRow row = new GenericInternalRow(new Object[7]);
    return iterator(
        new Iterator<>() {
          private boolean has = block.next();

          @Override
          public boolean hasNext() {
            return has;
          }

          @Override
          public InternalRow next() {
            row.update(0, (int) block.side());
            row.update(1, block.time());
            row.update(2, block.beforeTime());
            row.update(3, block.version() == Block.NO_VERSION ? null : block.version());
            row.update(4, block.sequence());
            row.update(5, block.before());
            row.update(6, block.after());
            has = block.next();
            return row;
          }
        });
  }

  @Override
  protected TableGenerator with(Seq<Expression> children) {
    return new Scatter(children);
  }

  @Override
  public String prettyName() {
    return "headrace_scatter";
  }
}
