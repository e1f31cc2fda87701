package headrace.kernel.window;

import headrace.kernel.Ahead;
import headrace.kernel.Tws;
import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.table.Rows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import scala.Tuple2;

/**
 * WindowAggregate on {@link Tws}, batch by batch as Spark runs them: the rows of a batch see its
 * watermark and come before its timers.
 */
final class Timed {
  private final Tws<byte[], Tuple2<byte[], byte[]>, byte[]> tws;
  private long watermark = 0;

  Timed(WindowAggregate windows) {
    tws = new Tws<>(new Ahead(windows, () -> watermark), block -> Long.MAX_VALUE);
  }

  /**
   * A batch: the events of each key, in any order and any blocks, and the watermark in
   * milliseconds.
   */
  List<Change> batch(long watermark, Map<String, List<Event>> events, Random chance) {
    boolean moves = watermark > this.watermark;
    this.watermark = watermark;
    List<Change> emitted = new ArrayList<>();
    events.forEach((key, some) -> emitted.addAll(feed(key, some, chance)));
    if (moves) emitted.addAll(changes(tws.watermark(watermark)));
    return emitted;
  }

  private List<Change> feed(String key, List<Event> events, Random chance) {
    List<Event> shuffled = new ArrayList<>(events);
    Collections.shuffle(shuffled, chance);
    List<byte[]> blocks = new ArrayList<>();
    BlockBuilder block = new BlockBuilder(64);
    for (Event event : shuffled) {
      block.add(
          new Change(
              (byte) 0, event.time(), 0, event.closed(), event.sequence(), null, event.row()));
      if (chance.nextInt(3) > 0) continue;
      blocks.add(block.build());
      block = new BlockBuilder(1);
    }
    if (!block.isEmpty()) blocks.add(block.build());
    @SuppressWarnings({"unchecked", "rawtypes"})
    Tuple2<byte[], byte[]>[] rows =
        blocks.stream().map(bytes -> new Tuple2<>(group(key), bytes)).toArray(Tuple2[]::new);
    List<Change> emitted = changes(tws.feed(group(key), rows));
    // What is kept or emitted must not lie in the blocks.
    for (byte[] bytes : blocks) Arrays.fill(bytes, (byte) 0xAA);
    return emitted;
  }

  byte[] kept(String key) {
    return tws.value("windows", group(key));
  }

  void keep(String key, byte[] state) {
    tws.keep("windows", group(key), state);
  }

  static byte[] key(String key) {
    return Rows.of(key).bytes();
  }

  /** As Spark groups by it: 8 bytes, of which the operator knows nothing, and the key. */
  private static byte[] group(String key) {
    byte[] row = key(key);
    byte[] group = new byte[8 + row.length];
    System.arraycopy(row, 0, group, 8, row.length);
    return group;
  }

  private static List<Change> changes(List<byte[]> blocks) {
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) changes.add(block.change());
    }
    return changes;
  }
}
