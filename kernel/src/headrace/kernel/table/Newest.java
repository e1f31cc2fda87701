package headrace.kernel.table;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import java.util.Iterator;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Upserts and deletes -> changes with the row before.
 *
 * <pre>
 * state: newest, the newest row of the key with its version ({@link StoredRow})
 *
 * for each upsert or delete, in the order of the log:
 *   if newest has a later version: count it as stale
 *   else: newest = its row; step RECORD: emit the change from the previous row, if the row differs
 * at the end of the batch:
 *   step BATCH: emit the change from the row before the batch, if the row or its time differs
 *   if newest is a delete: keep its version if remember, else clear the state
 * </pre>
 *
 * <p>With {@code remember}, an older row that arrives after a delete is still refused. Without it,
 * versions follow the order of the log, where no older one can arrive later. Rows whose key is null
 * are counted and dropped, unless {@code nullKeys}.
 */
final class Newest extends Operator {
  private final boolean remember;
  private final boolean nullKeys;
  private final StepSize steps;
  private transient ValueState<byte[]> newest;

  Newest(boolean remember, boolean nullKeys, StepSize steps) {
    this.remember = remember;
    this.nullKeys = nullKeys;
    this.steps = steps;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    newest = value("newest");
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    if (hasNull(key) && !nullKeys) return with(none(), NO_KEY, count(input.left()));
    StoredRow before = StoredRow.read(newest.get());
    StoredRow kept = before;
    BlockBuilder out = new BlockBuilder(256);
    int stale = 0;
    for (Change change : StepSize.ordered(input.left())) {
      if (kept.refuses(change)) {
        stale++;
        continue;
      }
      StoredRow now = kept.with(change);
      if (steps == StepSize.RECORD) emit(kept, now, change.time(), change.sequence(), out);
      kept = now;
    }
    if (steps == StepSize.BATCH) emit(before, kept, kept.version(), 0, out);
    keep(newest, before, kept, remember);
    return with(one(out), STALE, stale);
  }

  private static void emit(
      StoredRow before, StoredRow now, long version, long sequence, BlockBuilder out) {
    if (Change.same(before.row(), now.row()) && (!now.present() || before.time() == now.time()))
      return;
    out.add(new Change(OUT, now.time(), before.time(), version, sequence, before.row(), now.row()));
  }

  static void keep(ValueState<byte[]> state, StoredRow before, StoredRow now, boolean remember) {
    if (now == before) return;
    if (now.present() || remember) state.update(now.write());
    else if (before != StoredRow.NONE) state.clear();
  }
}
