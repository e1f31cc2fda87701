package headrace.kernel.table;

import headrace.kernel.Ahead;
import headrace.kernel.Tws;
import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.block.Key;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;

/**
 * An operator on {@link Tws}: changes in, changes out.
 *
 * <p>Blocks that were fed are written over afterwards: what an operator keeps or gives must not lie
 * in them.
 */
public final class Driven {
  private final Tws<byte[], Tuple2<byte[], byte[]>, byte[]> tws;
  private long ahead = 0;

  private Driven(Operator operator, boolean timed) {
    tws =
        timed
            ? new Tws<>(new Ahead(operator, () -> ahead), block -> Long.MAX_VALUE)
            : new Tws<>(operator);
  }

  static Driven of(Operator operator) {
    return new Driven(operator, false);
  }

  static Driven inEventTime(Operator operator) {
    return new Driven(operator, true);
  }

  /**
   * Begins a batch as Spark does: its rows, which see its watermark, come first; then its timers,
   * by {@link #watermark}.
   */
  void batch(long watermark) {
    ahead = watermark;
  }

  /** A batch: the changes of each side in one block, in this order. */
  List<Change> feed(byte[] key, Change... changes) {
    return feed(key, blocks(Arrays.asList(changes), null));
  }

  List<Change> feed(String key, Change... changes) {
    return feed(key(key), changes);
  }

  /**
   * A batch: the changes in any number of blocks, which come in any order, as from several tasks.
   */
  List<Change> feed(byte[] key, List<Change> changes, Random chance) {
    return feed(key, blocks(changes, chance));
  }

  private List<Change> feed(byte[] key, List<byte[]> blocks) {
    @SuppressWarnings({"unchecked", "rawtypes"})
    Tuple2<byte[], byte[]>[] rows =
        blocks.stream().map(block -> new Tuple2<>(group(key), block)).toArray(Tuple2[]::new);
    List<Change> out = changes(tws.feed(group(key), rows));
    for (byte[] block : blocks) Arrays.fill(block, (byte) 0xAA);
    return out;
  }

  List<Change> watermark(long millis) {
    return changes(tws.watermark(millis));
  }

  <T> T value(String state, String key) {
    return tws.value(state, group(key(key)));
  }

  <T, V> Map<T, V> map(String state, byte[] key) {
    return tws.map(state, group(key));
  }

  List<byte[]> list(String state, String key) {
    return tws.list(state, group(key(key)));
  }

  void keep(String state, byte[] key, Object value) {
    tws.keep(state, group(key), value);
  }

  void keepMap(String state, byte[] key, Map<String, byte[]> values) {
    tws.keepMap(state, group(key), values);
  }

  void keepList(String state, byte[] key, byte[]... values) {
    tws.keepList(state, group(key), byte[].class, List.of(values));
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

  /** A key is a row; null is one whose column is null. */
  static byte[] key(String key) {
    return Rows.of(new DataType[] {DataTypes.StringType}, key).bytes();
  }

  /** The key as Spark groups by it. */
  private static byte[] group(byte[] key) {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(key, key.length);
    byte[] group = new byte[Key.HASH + key.length];
    Key.write(Key.hash(row), row, group, Platform.BYTE_ARRAY_OFFSET);
    return group;
  }

  /** The changes of blocks; what a block only counts becomes as many changes of its side. */
  public static List<Change> changes(List<byte[]> blocks) {
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : blocks) {
      if (bytes.length > 0 && (bytes[0] == Operator.STALE || bytes[0] == Operator.NO_KEY)) {
        Change counted = new Change(bytes[0], 0, 0, 0, 0, null, null);
        for (int left = ByteBuffer.wrap(bytes).getInt(1); left > 0; left--) changes.add(counted);
        continue;
      }
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

  /** What each change emits: {@code before@time > after@time v version}, with - for no row. */
  static List<String> texts(List<Change> changes) {
    return changes.stream().map(Driven::text).toList();
  }

  private static String text(Change change) {
    if (change.side() == Operator.STALE) return "stale";
    if (change.side() == Operator.NO_KEY) return "no key";
    String before =
        change.before() == null ? "-" : text(change.before()) + "@" + change.beforeTime();
    String version = change.version() == Block.NO_VERSION ? "" : " v" + change.version();
    return before + " > " + text(change.after()) + "@" + change.time() + version;
  }
}
