package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.unsafe.Platform;

/**
 * Changes of one row from several keys of a join -> one change.
 *
 * <pre>
 * state: rows, each with a count, and whether the first of them is the one emitted
 *
 * for each step:
 *   for each change: count[before] -= 1, count[after] += 1
 *   row = one with count &gt; 0, preferably not the emitted one; null if there is none
 *   if row is not the emitted one: emit the change between them
 *   remove the rows with count 0
 * </pre>
 *
 * <p>When a row moves from one key of a join to another, one task deletes the old row and another
 * inserts the new one, and either may arrive first. Once all changes of a step are counted, the row
 * with a positive count is the current one.
 */
final class Settle extends Operator {
  private final StepSize steps;
  private transient ValueState<byte[]> state;

  Settle(StepSize steps) {
    this.steps = steps;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = value("rows");
  }

  /**
   * A row and its count, which is above one or below zero only until the other changes are counted.
   */
  private static final class Counted {
    final byte[] row;
    long time;
    long version;
    int count;

    Counted(byte[] row, long time, long version, int count) {
      this.row = row;
      this.time = time;
      this.version = version;
      this.count = count;
    }
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    byte[] kept = state.get();
    List<Counted> rows = read(kept);
    Counted emitted = rows.isEmpty() || kept[1] == 0 ? null : rows.get(0);
    BlockBuilder out = new BlockBuilder(256);
    for (StepSize.Step step : steps.of(input)) {
      Counted now = after(step, rows, emitted);
      if (now != emitted) out.add(change(step, emitted, now));
      emitted = now;
      rows.removeIf(row -> row.count == 0);
    }
    write(rows, emitted, kept != null);
    return one(out);
  }

  /** The current row after the changes of a step. */
  private static Counted after(StepSize.Step step, List<Counted> rows, Counted emitted) {
    for (Change change : step.left()) {
      if (change.before() != null)
        count(rows, change.before(), change.beforeTime(), change.version(), -1);
      if (change.after() != null) count(rows, change.after(), change.time(), change.version(), 1);
    }
    Counted now = null;
    for (Counted row : rows) {
      if (row.count > 0 && (now == null || row != emitted)) now = row;
    }
    return now;
  }

  private static Change change(StepSize.Step step, Counted emitted, Counted now) {
    long latest = Long.MIN_VALUE;
    for (Change change : step.left()) latest = Math.max(latest, change.time());
    return new Change(
        OUT,
        now == null ? latest : now.time,
        emitted == null ? 0 : emitted.time,
        step.version(now == null ? Block.NO_VERSION : now.version),
        step.number(),
        emitted == null ? null : emitted.row,
        now == null ? null : now.row);
  }

  private static void count(List<Counted> rows, byte[] row, long time, long version, int by) {
    for (Counted known : rows) {
      if (Change.same(known.row, row)) {
        known.count += by;
        return;
      }
    }
    rows.add(new Counted(row, time, version, by));
  }

  private static List<Counted> read(byte[] bytes) {
    List<Counted> rows = new ArrayList<>(2);
    if (bytes == null) return rows;
    if (bytes[0] != StoredRow.FORMAT) throw new StateFormatException(bytes[0], StoredRow.FORMAT);
    int at = 2;
    while (at < bytes.length) {
      long start = Platform.BYTE_ARRAY_OFFSET + at;
      int length = Platform.getInt(bytes, start + 20);
      byte[] row = java.util.Arrays.copyOfRange(bytes, at + 24, at + 24 + length);
      rows.add(
          new Counted(
              row,
              Platform.getLong(bytes, start),
              Platform.getLong(bytes, start + 8),
              Platform.getInt(bytes, start + 16)));
      at += 24 + length;
    }
    return rows;
  }

  /**
   * Format, whether the first row is the one that was emitted, and the rows: time, version, count,
   * length, bytes.
   */
  private void write(List<Counted> rows, Counted emitted, boolean known) {
    if (rows.isEmpty()) {
      if (known) state.clear();
      return;
    }
    if (emitted != null) {
      rows.remove(emitted);
      rows.add(0, emitted);
    }
    byte[] bytes = new byte[2 + rows.stream().mapToInt(row -> 24 + row.row.length).sum()];
    bytes[0] = StoredRow.FORMAT;
    bytes[1] = (byte) (emitted == null ? 0 : 1);
    int at = 2;
    for (Counted row : rows) {
      long start = Platform.BYTE_ARRAY_OFFSET + at;
      Platform.putLong(bytes, start, row.time);
      Platform.putLong(bytes, start + 8, row.version);
      Platform.putInt(bytes, start + 16, row.count);
      Platform.putInt(bytes, start + 20, row.row.length);
      System.arraycopy(row.row, 0, bytes, at + 24, row.row.length);
      at += 24 + row.row.length;
    }
    state.update(bytes);
  }
}
