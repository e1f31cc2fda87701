package headrace.kernel.table;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.block.Pair;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.table.aggregate.Group;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Aggregates the rows of a table that have this key, with retraction.
 *
 * <pre>
 * state: group, the last result emitted, its time, and the accumulators ({@link Group})
 *        values0 ..., maps of accumulators: values by order, or counts by value
 *
 * for each step:
 *   for each change with a row after: add that row to each accumulator
 *   for each change with a row before: retract that row from each accumulator
 *   result = the accumulators' results; null if the group is empty and not the whole table
 *   if result differs from the last one: emit the change between them
 * if the group is empty and not the whole table: clear the state
 * </pre>
 *
 * <p>Rows are added before others are retracted, so that a group does not become empty in between.
 * The result is a {@link Pair} of the key and the row of results; its time is that of the step's
 * newest change. Format of the state: format, time, result (length first, -1 for none),
 * accumulators.
 */
final class TableAggregate extends Operator {
  private static final byte FORMAT = 1;

  private final Calls calls;
  private final boolean whole;
  private final StepSize steps;
  private transient ValueState<byte[]> state;
  private transient Group group;
  private transient byte[] emitted;
  private transient long emittedTime;

  TableAggregate(Calls calls, boolean whole, StepSize steps) {
    this.calls = calls;
    this.whole = whole;
    this.steps = steps;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = value("group");
    int[] maps = {0};
    group = new Group(calls, () -> map("values" + maps[0]++));
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    byte[] kept = state.get();
    read(kept);
    BlockBuilder out = new BlockBuilder(256);
    for (StepSize.Step step : steps.of(input)) apply(key, step, out);
    if (group.isEmpty() && !whole) {
      if (kept != null) state.clear();
    } else {
      state.update(write());
    }
    return one(out);
  }

  private void apply(byte[] key, StepSize.Step step, BlockBuilder out) {
    long time = Long.MIN_VALUE;
    for (Change change : step.left()) {
      if (change.after() != null) group.change(change.after(), 1, change.time());
      time = Math.max(time, change.time());
    }
    for (Change change : step.left()) {
      if (change.before() != null) group.change(change.before(), -1, change.beforeTime());
    }
    byte[] result = group.isEmpty() && !whole ? null : group.result();
    if (Change.same(emitted, result)) return;
    out.add(
        new Change(
            OUT,
            time,
            emittedTime,
            step.version(time),
            step.number(),
            pair(key, emitted),
            pair(key, result)));
    emitted = result;
    emittedTime = time;
  }

  private static byte[] pair(byte[] key, byte[] result) {
    return result == null ? null : Pair.of(key, result);
  }

  private void read(byte[] bytes) {
    emitted = null;
    emittedTime = 0;
    group.clear();
    if (bytes == null) return;
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    try (DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(bytes, 1, bytes.length))) {
      emittedTime = in.readLong();
      int length = in.readInt();
      emitted = length < 0 ? null : in.readNBytes(length);
      group.read(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private byte[] write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(FORMAT);
      out.writeLong(emittedTime);
      out.writeInt(emitted == null ? -1 : emitted.length);
      if (emitted != null) out.write(emitted);
      group.write(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
