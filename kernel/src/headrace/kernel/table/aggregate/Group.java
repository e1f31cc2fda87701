package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/** The aggregates of one group at a time: read, changed by its rows, evaluated, written. */
public final class Group {
  private final Accumulator[] accumulators;
  private final UnsafeProjection projection;
  private final UnsafeRow values;
  private long rows;

  /**
   * {@code maps} returns a map of the state for each call that needs one, always in the same order.
   */
  public Group(Calls calls, Supplier<MapState<String, byte[]>> maps) {
    this.accumulators =
        Arrays.stream(calls.calls())
            .map(call -> Accumulator.of(call, maps))
            .toArray(Accumulator[]::new);
    this.projection =
        UnsafeProjection.create(
            Arrays.stream(calls.calls()).map(Call::result).toArray(DataType[]::new));
    this.values = new UnsafeRow(calls.arguments());
  }

  /**
   * Adds (by = 1) or retracts (by = -1) a row of arguments; a step adds all its rows before it
   * retracts any.
   */
  public void change(byte[] row, int by, long time) {
    change(row, 0, row.length, by, time);
  }

  /** A row that lies somewhere in these bytes. */
  public void change(byte[] bytes, int at, int length, int by, long time) {
    values.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + at, length);
    rows += by;
    for (Accumulator accumulator : accumulators) accumulator.change(values, by, time);
  }

  public boolean isEmpty() {
    return rows == 0;
  }

  public byte[] result() {
    Object[] results = new Object[accumulators.length];
    results(results, 0);
    // A copy: the projection uses its buffer again.
    return projection.apply(new GenericInternalRow(results)).copy().getBytes();
  }

  /** The results, as Spark's values, from this place on. */
  public void results(Object[] values, int from) {
    for (int i = 0; i < accumulators.length; i++) values[from + i] = accumulators[i].result();
  }

  public void read(DataInputStream in) throws IOException {
    rows = in.readLong();
    for (Accumulator accumulator : accumulators) accumulator.read(in);
  }

  public void write(DataOutputStream out) throws IOException {
    out.writeLong(rows);
    for (Accumulator accumulator : accumulators) accumulator.write(out);
  }

  public void clear() {
    rows = 0;
    for (Accumulator accumulator : accumulators) accumulator.clear();
  }
}
