package headrace.kernel.table;

import headrace.kernel.block.Gather;
import headrace.kernel.block.Pair;
import headrace.kernel.block.Scatter;
import headrace.kernel.table.aggregate.Split;
import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The door to the operators. Each reads blocks (from {@link Gather}) and emits blocks (for {@link
 * Scatter}).
 */
public final class Operators {
  private Operators() {}

  public static Dataset<Row> gather(Dataset<Row> changes, boolean atOnce) {
    Column[] columns = Arrays.stream(changes.columns()).map(functions::col).toArray(Column[]::new);
    return changes.select(Gather.column(columns, atOnce).as(Gather.TYPE.fieldNames()));
  }

  /** With {@code pairs}, the rows are {@link Pair}s and the types structs of two. */
  public static Dataset<Row> scatter(
      Dataset<Row> blocks, String before, String after, boolean pairs, boolean atOnce) {
    StructType type =
        Scatter.type((StructType) DataType.fromJson(before), (StructType) DataType.fromJson(after));
    return blocks.select(
        Scatter.column(functions.col("block"), type, pairs, atOnce).as(type.fieldNames()));
  }

  public static Dataset<Row> newest(
      Dataset<Row> blocks, boolean remember, boolean nullKeys, String steps, OutputMode mode) {
    return run(
        blocks, new Newest(remember, nullKeys, StepSize.valueOf(steps)), TimeMode.None(), mode);
  }

  public static Dataset<Row> timeline(Dataset<Row> blocks, boolean nullKeys, OutputMode mode) {
    return run(blocks, new Timeline(nullKeys), TimeMode.EventTime(), mode);
  }

  public static Dataset<Row> lookup(
      Dataset<Row> blocks, boolean outer, boolean versioned, boolean remember, OutputMode mode) {
    return run(blocks, new Lookup(outer, versioned, remember), TimeMode.None(), mode);
  }

  public static Dataset<Row> asOf(
      Dataset<Row> blocks,
      boolean outer,
      long history,
      boolean counting,
      boolean computed,
      OutputMode mode) {
    return run(blocks, new AsOf(outer, history, counting, computed), TimeMode.EventTime(), mode);
  }

  public static Dataset<Row> join(
      Dataset<Row> blocks,
      boolean left,
      boolean right,
      String by,
      String leftSide,
      String rightSide,
      String steps,
      OutputMode mode) {
    TableJoin join =
        new TableJoin(
            left,
            right,
            TableJoin.By.valueOf(by),
            TableJoin.Side.valueOf(leftSide),
            TableJoin.Side.valueOf(rightSide),
            StepSize.valueOf(steps));
    return run(blocks, join, TimeMode.None(), mode);
  }

  public static Dataset<Row> settle(Dataset<Row> blocks, String steps, OutputMode mode) {
    return run(blocks, new Settle(StepSize.valueOf(steps)), TimeMode.None(), mode);
  }

  /** {@code whole}: over all rows of a table, a group that exists even without rows. */
  public static Dataset<Row> aggregate(
      Dataset<Row> blocks, Split split, boolean whole, String steps, OutputMode mode) {
    return run(
        blocks,
        new TableAggregate(split.calls(), whole, StepSize.valueOf(steps)),
        TimeMode.None(),
        mode);
  }

  public static Dataset<Row> run(
      Dataset<Row> blocks, Operator operator, TimeMode time, OutputMode mode) {
    return blocks
        .groupBy("key")
        .as(Encoders.BINARY(), Encoders.tuple(Encoders.BINARY(), Encoders.BINARY()))
        .transformWithState(operator, time, mode, Encoders.BINARY())
        .toDF("block");
  }
}
