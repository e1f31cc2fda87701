package headrace.kernel.slide;

import headrace.kernel.table.Operators;
import headrace.kernel.table.aggregate.Split;
import headrace.kernel.window.EmitMode;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;

/** The door to {@link SlidingAggregate}. */
public final class SlidingOperators {
  private SlidingOperators() {}

  /** {@code size} in microseconds; {@code emit}: FINAL, UPDATES or ALL. */
  public static Dataset<Row> sliding(
      Dataset<Row> blocks, Split split, long size, String emit, OutputMode mode) {
    return Operators.run(
        blocks,
        new SlidingAggregate(split.calls(), size, EmitMode.valueOf(emit)),
        TimeMode.EventTime(),
        mode);
  }
}
