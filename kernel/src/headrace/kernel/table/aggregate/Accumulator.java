package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The state of one aggregate call for one group: read, changed by rows that are added and
 * retracted, evaluated, written.
 */
abstract class Accumulator {
  final Call call;

  Accumulator(Call call) {
    this.call = call;
  }

  static Accumulator of(Call call, Supplier<MapState<String, byte[]>> maps) {
    return switch (call.kind()) {
      case COUNT -> new Counts(call);
      case COUNT_DISTINCT -> new Distinct(call, maps.get());
      case SUM, AVERAGE -> new Sums(call);
      case VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP -> new Moments(call);
      case PERCENTILE -> new Sketch(call);
      default -> new Ordered(call, maps);
    };
  }

  /** Adds (by = 1) or retracts (by = -1) a row. A step adds all its rows before it retracts any. */
  final void change(UnsafeRow row, int by, long time) {
    if (call.filter() >= 0 && (row.isNullAt(call.filter()) || !row.getBoolean(call.filter())))
      return;
    count(row, by, time);
  }

  abstract void count(UnsafeRow row, int by, long time);

  abstract Object result();

  abstract void read(DataInputStream in) throws IOException;

  abstract void write(DataOutputStream out) throws IOException;

  /** A group that has no rows. */
  abstract void clear();
}
