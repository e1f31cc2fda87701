package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins events with the row of a table that was valid at the event's own time. Left: events, right:
 * the table's changes.
 *
 * <pre>
 * state: versions, the key's rows by time ({@link History}); waiting, blocks of events
 *
 * add the changes of the batch to versions
 * for each event of the batch; if there were changes, for each waiting event first:
 *   if its time is before the watermark:
 *     row = versions at its time; if there is a row, or outer: emit the event with it
 *   else: it waits; set a timer for the first that does
 * if there were changes: drop versions that were replaced history or longer before the watermark
 * timer: the same for all waiting events
 * </pre>
 *
 * <p>Once the watermark has passed an event's time, every change that the event can see has
 * arrived, and the order of arrival makes no difference. Waiting events are joined before versions
 * are dropped, since the watermark may jump past both. A key with a null has no versions.
 */
final class AsOf extends Operator {
  /** Of the waiting events; 1 was another layout of blocks. */
  private static final byte FORMAT = 2;

  private final boolean outer;
  private final long history;
  private final boolean counting;
  private final boolean computed;
  private transient ValueState<byte[]> versions;
  private transient ListState<byte[]> waiting;

  /**
   * With {@code counting}, changes without a key are counted; otherwise they belong to groups that
   * no event joins. With {@code computed}, changes arrive in the order of their times ({@link
   * Timeline}), and each is valid from its own time on.
   */
  AsOf(boolean outer, long history, boolean counting, boolean computed) {
    this.outer = outer;
    this.history = history;
    this.counting = counting;
    this.computed = computed;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    versions = value("versions");
    waiting = list("waiting");
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    long watermark = times.getCurrentWatermarkInMs() * 1000;
    if (hasNull(key))
      return with(
          one(release(input.left(), new History(), watermark)),
          NO_KEY,
          counting ? count(input.right()) : 0);
    History known = History.read(versions.get());
    if (input.right().isEmpty()) return one(release(input.left(), known, watermark));
    for (Change change : StepSize.ordered(input.right())) {
      if (computed) known.follow(change);
      else known.add(change);
    }
    // Waiting events first: the watermark may have moved so far that the versions they need are
    // dropped below.
    List<byte[]> events = waiting();
    events.addAll(input.left());
    BlockBuilder out = release(events, known, watermark);
    known.forget(watermark - history);
    if (known.isEmpty()) versions.clear();
    else versions.update(known.write());
    return one(out);
  }

  @Override
  public scala.collection.Iterator<byte[]> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo timer) {
    long watermark = times.getCurrentWatermarkInMs() * 1000;
    return CollectionConverters.asScala(
        one(release(waiting(), History.read(versions.get()), watermark)));
  }

  /** Removes and returns the events that wait. */
  private List<byte[]> waiting() {
    List<byte[]> blocks = new ArrayList<>();
    for (byte[] kept : CollectionConverters.asJava(waiting.get().toList())) {
      if (kept[0] != FORMAT) throw new StateFormatException(kept[0], FORMAT);
      blocks.add(Arrays.copyOfRange(kept, 1, kept.length));
    }
    if (!blocks.isEmpty()) waiting.clear();
    return blocks;
  }

  /** Joins the events before the watermark; the others wait. */
  private BlockBuilder release(List<byte[]> blocks, History known, long watermark) {
    BlockBuilder out = new BlockBuilder(1024);
    BlockBuilder later = new BlockBuilder(1024);
    long first = Long.MAX_VALUE;
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) {
        if (block.time() < watermark) {
          History.Version version = known.at(block.time());
          if (version.row() != null || outer) {
            block.copyAfterAsBefore(
                out,
                OUT,
                block.time(),
                version.row() == null ? Block.NO_VERSION : version.version(),
                version.row());
          }
        } else {
          later.add(block.change());
          first = Math.min(first, block.time());
        }
      }
    }
    if (!later.isEmpty()) {
      byte[] block = later.build();
      byte[] kept = new byte[block.length + 1];
      kept[0] = FORMAT;
      System.arraycopy(block, 0, kept, 1, block.length);
      waiting.appendValue(kept);
      getHandle().registerTimer(Math.floorDiv(first, 1000) + 1);
    }
    return out;
  }
}
