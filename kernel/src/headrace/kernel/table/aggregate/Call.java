package headrace.kernel.table.aggregate;

import java.io.Serializable;
import org.apache.spark.sql.types.DataType;

/**
 * One call of an aggregate function: what it does, where its arguments begin in the row of
 * arguments, and what comes out.
 *
 * <p>{@code filter} is where the condition of a FILTER clause is, -1 for none. {@code most}: how
 * many values it returns, if it returns the first of an order. {@code nulls}: whether a null counts
 * as a value. {@code parts}: which parts of the values lie below, for percentiles.
 */
public record Call(
    Kind kind,
    int first,
    DataType[] arguments,
    int filter,
    int most,
    boolean nulls,
    DataType result,
    double... parts)
    implements Serializable {
  public enum Kind {
    COUNT,
    COUNT_DISTINCT,
    SUM,
    AVERAGE,
    VAR_POP,
    VAR_SAMP,
    STDDEV_POP,
    STDDEV_SAMP,
    PERCENTILE,
    MIN,
    MAX,
    MIN_BY,
    MAX_BY,
    SMALLEST_BY,
    LARGEST_BY,
    FIRST,
    LAST,
    LIST,
    SET
  }

  DataType argument() {
    return arguments[0];
  }
}
