package headrace.kernel.table;

import java.util.ArrayList;
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
 * Events joined with the row of a table that was valid at their own time. Left: events, right: the table's changes.
 *
 * <p>An event waits until the watermark has passed its time: then every change that it could see has come, and the order in which they
 * came makes no difference. Keeps the versions of each key's row ({@link History}) and the blocks of events that wait.
 */
final class AsOf extends Operator {
  private final boolean outer;
  private final long history;
  private transient ValueState<byte[]> versions;
  private transient ListState<byte[]> waiting;

  AsOf(boolean outer, long history) {
    this.outer = outer;
    this.history = history;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    versions = value("versions");
    waiting = list("waiting");
  }

  @Override
  Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    long watermark = times.getCurrentWatermarkInMs() * 1000;
    History known = History.read(versions.get());
    if (!input.right().isEmpty()) {
      for (Change change : ordered(input.right())) known.add(change);
      known.forget(watermark - history);
      versions.update(known.write());
    }
    return one(release(input.left(), known, watermark));
  }

  @Override
  public scala.collection.Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues times, ExpiredTimerInfo timer) {
    List<byte[]> blocks = new ArrayList<>(CollectionConverters.asJava(waiting.get().toList()));
    waiting.clear();
    long watermark = times.getCurrentWatermarkInMs() * 1000;
    return CollectionConverters.asScala(one(release(blocks, History.read(versions.get()), watermark)));
  }

  /** Joins the events whose time has come; the others wait (on). */
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
            block.copyAfterAsBefore(out, OUT, block.time(), version.row() == null ? Block.NO_VERSION : version.version(), version.row());
          }
        } else {
          later.add(block.change());
          first = Math.min(first, block.time());
        }
      }
    }
    if (!later.isEmpty()) {
      waiting.appendValue(later.build());
      getHandle().registerTimer(Math.floorDiv(first, 1000) + 1);
    }
    return out;
  }
}
