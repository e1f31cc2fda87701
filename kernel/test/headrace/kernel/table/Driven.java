package headrace.kernel.table;

import headrace.kernel.Tws;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import scala.Tuple2;

/**
 * An operator on {@link Tws}: changes in, changes out.
 *
 * <p>Blocks that were fed are written over afterwards: what an operator keeps or gives must not lie in them.
 */
final class Driven {
  private final Tws<byte[], Tuple2<byte[], byte[]>, byte[]> tws;

  private Driven(Tws<byte[], Tuple2<byte[], byte[]>, byte[]> tws) {
    this.tws = tws;
  }

  static Driven of(Operator operator) {
    return new Driven(new Tws<>(operator));
  }

  static Driven inEventTime(Operator operator) {
    return new Driven(new Tws<>(operator, block -> Long.MAX_VALUE));
  }

  /** A batch: the changes of each side in one block, in this order. */
  List<Change> feed(byte[] key, Change... changes) {
    return feed(key, blocks(Arrays.asList(changes), null));
  }

  List<Change> feed(String key, Change... changes) {
    return feed(Tws.bytes(key), changes);
  }

  /** A batch: the changes in any number of blocks, which come in any order, as from several tasks. */
  List<Change> feed(byte[] key, List<Change> changes, Random chance) {
    return feed(key, blocks(changes, chance));
  }

  private List<Change> feed(byte[] key, List<byte[]> blocks) {
    @SuppressWarnings({"unchecked", "rawtypes"})
    Tuple2<byte[], byte[]>[] rows = blocks.stream().map(block -> new Tuple2<>(key, block)).toArray(Tuple2[]::new);
    List<Change> out = changes(tws.feed(key, rows));
    for (byte[] block : blocks) Arrays.fill(block, (byte) 0xAA);
    return out;
  }

  List<Change> watermark(long millis) {
    return changes(tws.watermark(millis));
  }

  <T> T value(String state, String key) {
    return tws.value(state, Tws.bytes(key));
  }

  <T, V> Map<T, V> map(String state, byte[] key) {
    return tws.map(state, key);
  }

  List<byte[]> list(String state, String key) {
    return tws.list(state, Tws.bytes(key));
  }

  void keep(String state, byte[] key, Object value) {
    tws.keep(state, key, value);
  }

  void keepMap(String state, byte[] key, Map<String, byte[]> values) {
    tws.keepMap(state, key, values);
  }

  private static List<byte[]> blocks(List<Change> changes, Random chance) {
    List<byte[]> blocks = new ArrayList<>();
    for (byte side = 0; side < 2; side++) {
      BlockBuilder block = new BlockBuilder(chance == null ? 64 : 1 + chance.nextInt(200));
      for (Change change : changes) {
        if (change.side() != side) continue;
        if (chance != null && !block.isEmpty() && chance.nextInt(3) == 0) {
          blocks.add(block.build());
          block = new BlockBuilder(1);
        }
        block.add(change);
      }
      if (!block.isEmpty()) blocks.add(block.build());
    }
    if (chance != null) Collections.shuffle(blocks, chance);
    return blocks;
  }

  static List<Change> changes(List<byte[]> blocks) {
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) changes.add(block.change());
    }
    return changes;
  }

  /** An event, or a row as it comes to a table, without one before it; null deletes. */
  static Change upsert(int side, long time, long version, long sequence, String row) {
    return new Change((byte) side, time, 0, version, sequence, null, bytes(row));
  }

  /** A change that knows the row before it. */
  static Change change(String before, long beforeTime, String after, long time) {
    return new Change((byte) 0, time, beforeTime, time, 0, bytes(before), bytes(after));
  }

  static byte[] bytes(String text) {
    return text == null ? null : Tws.bytes(text);
  }

  static String text(byte[] bytes) {
    return bytes == null ? "-" : new String(bytes, StandardCharsets.UTF_8);
  }

  /** What each change tells: {@code before@time > after@time v version}, with - for no row. */
  static List<String> texts(List<Change> changes) {
    return changes.stream().map(Driven::text).toList();
  }

  private static String text(Change change) {
    if (change.side() == Operator.STALE) return "stale";
    String before = change.before() == null ? "-" : text(change.before()) + "@" + change.beforeTime();
    String version = change.version() == Block.NO_VERSION ? "" : " v" + change.version();
    return before + " > " + text(change.after()) + "@" + change.time() + version;
  }
}
