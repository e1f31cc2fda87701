package headrace.kernel.table;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import java.nio.ByteBuffer;
import java.util.Iterator;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Upserts and deletes -> changes in the order of their times, for operators that read a table as of
 * a time.
 *
 * <pre>
 * state: timeline, the last version that the watermark has passed, and those that wait
 *        ({@link History})
 *
 * for each upsert or delete:
 *   if older than the last version: count it as stale
 *   else: it waits
 * for each waiting version before the watermark, in order; of several at one time, the newest:
 *   emit the change from the last version to it, unless the row is the same; it is the last now
 * if any still waits: set a timer for the first
 * </pre>
 *
 * <p>All keys wait for the same watermark. So downstream operators see all changes of a time in the
 * same batch, in order, however the log is split into batches. Rows whose key is null are counted
 * and dropped, unless {@code nullKeys}. Format of the state: format, time, version and sequence of
 * the last version, the time since when its row is valid, the row (length first, -1 for none), then
 * the waiting versions.
 */
final class Timeline extends Operator {
  private static final byte FORMAT = 1;
  private static final int HEAD = 1 + 4 * 8 + 4;

  private final boolean nullKeys;
  private transient ValueState<byte[]> state;
  private transient History.Version last;
  private transient long since;
  private transient History waiting;

  Timeline(boolean nullKeys) {
    this.nullKeys = nullKeys;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = value("timeline");
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    if (hasNull(key) && !nullKeys) return with(none(), NO_KEY, count(input.left()));
    read();
    int stale = 0;
    for (Change change : StepSize.ordered(input.left())) {
      if (History.Version.of(change).compareTo(last) < 0) stale++;
      else waiting.add(change);
    }
    return with(release(times), STALE, stale);
  }

  @Override
  public scala.collection.Iterator<byte[]> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo timer) {
    read();
    return CollectionConverters.asScala(release(times));
  }

  private Iterator<byte[]> release(TimerValues times) {
    BlockBuilder out = new BlockBuilder(256);
    for (History.Version version : waiting.takeBefore(times.getCurrentWatermarkInMs() * 1000)) {
      byte[] before = last.row();
      last = version;
      if (Change.same(before, version.row())) continue;
      out.add(
          new Change(
              OUT,
              version.time(),
              before == null ? 0 : since,
              version.version(),
              version.time(),
              before,
              version.row()));
      since = version.time();
    }
    if (!waiting.isEmpty()) getHandle().registerTimer(Math.floorDiv(waiting.firstTime(), 1000) + 1);
    state.update(write());
    return one(out);
  }

  private void read() {
    byte[] bytes = state.get();
    last = History.Version.NONE;
    since = 0;
    waiting = new History();
    if (bytes == null) return;
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    ByteBuffer in = ByteBuffer.wrap(bytes, 1, bytes.length - 1);
    long time = in.getLong();
    long version = in.getLong();
    long sequence = in.getLong();
    since = in.getLong();
    int length = in.getInt();
    byte[] row = length < 0 ? null : new byte[length];
    if (row != null) in.get(row);
    last = new History.Version(time, version, sequence, row);
    byte[] rest = new byte[in.remaining()];
    in.get(rest);
    waiting = History.read(rest);
  }

  private byte[] write() {
    byte[] rest = waiting.write();
    byte[] row = last.row();
    ByteBuffer out = ByteBuffer.allocate(HEAD + (row == null ? 0 : row.length) + rest.length);
    out.put(FORMAT)
        .putLong(last.time())
        .putLong(last.version())
        .putLong(last.sequence())
        .putLong(since);
    out.putInt(row == null ? -1 : row.length);
    if (row != null) out.put(row);
    return out.put(rest).array();
  }
}
