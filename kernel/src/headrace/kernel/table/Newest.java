package headrace.kernel.table;

import java.util.Iterator;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Upserts and deletes -> changes that know the row before them. What is out of date or changes nothing goes no further.
 *
 * <p>Keeps the newest row of each key ({@link Kept}). With {@code remember}, a deleted key's version stays, so that an older row that
 * comes later is still refused; without, versions are the order of the log, where nothing older can come. A key that is null counts as
 * none, but for {@code nullKeys}.
 */
final class Newest extends Operator {
  private final boolean remember;
  private final boolean nullKeys;
  private transient ValueState<byte[]> newest;

  Newest(boolean remember, boolean nullKeys) {
    this.remember = remember;
    this.nullKeys = nullKeys;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    newest = value("newest");
  }

  @Override
  Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    if (hasNull(key) && !nullKeys) return with(none(), NO_KEY, count(input.left()));
    Kept before = Kept.read(newest.get());
    Kept kept = before;
    BlockBuilder out = new BlockBuilder(256);
    int stale = 0;
    for (Change change : ordered(input.left())) {
      if (kept.refuses(change)) {
        stale++;
        continue;
      }
      if (!Change.same(kept.row(), change.after())) {
        out.add(new Change(OUT, change.time(), kept.time(), change.version(), change.sequence(), kept.row(), change.after()));
      }
      kept = kept.with(change);
    }
    keep(newest, before, kept, remember);
    return with(one(out), STALE, stale);
  }

  static void keep(ValueState<byte[]> state, Kept before, Kept now, boolean remember) {
    if (now == before) return;
    if (now.present() || remember) state.update(now.write());
    else if (before != Kept.NONE) state.clear();
  }
}
