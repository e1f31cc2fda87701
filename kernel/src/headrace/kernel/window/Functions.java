package headrace.kernel.window;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.types.DataType;

/**
 * Spark's aggregate functions over a row of arguments.
 *
 * <p>{@code filters}: where in that row the condition of a call's FILTER clause is, -1 for none.
 * {@code arguments}: the row's types.
 */
public record Functions(AggregateFunction[] functions, int[] filters, DataType[] arguments)
    implements Serializable {
  DataType[] results() {
    DataType[] types = new DataType[functions.length];
    for (int i = 0; i < types.length; i++) types[i] = functions[i].dataType();
    return types;
  }
}
