package headrace.kernel.window;

import headrace.kernel.table.Operators;
import headrace.kernel.window.frame.Frames;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;

/**
 * The door to windows. Reads blocks of events ({@link headrace.kernel.block.Gather}), each the row
 * of its arguments, and emits blocks.
 */
public final class WindowOperators {
  private WindowOperators() {}

  /**
   * {@code kind}: fixed, calendar, cumulating or session; {@code size}: of a window, of a period,
   * or the gap of sessions; {@code every}: how often a window starts, or the step of cumulating
   * ones; {@code unit} and {@code zone}: of the calendar, else null; {@code emit}: see {@link
   * EmitMode}; {@code tick}: of EVERY.
   */
  public static Dataset<Row> windows(
      Dataset<Row> blocks,
      Aggregates aggregates,
      String kind,
      long size,
      long every,
      long offset,
      String unit,
      String zone,
      String emit,
      long tick,
      OutputMode mode) {
    Frames frames = Frames.of(kind, size, every, offset, unit, zone);
    return Operators.run(
        blocks,
        new WindowAggregate(aggregates.functions(), frames, EmitMode.valueOf(emit), tick),
        TimeMode.EventTime(),
        mode);
  }
}
