package headrace.kernel.slide;

import headrace.kernel.Ahead;
import headrace.kernel.Tws;
import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.table.Functions;
import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.Rows;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.window.EmitMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;

/**
 * {@link SlidingAggregate} on {@link Tws}: batches of events in, windows out. As in Spark, the rows
 * of a batch see its watermark, and then its timers fire. Blocks that were fed are written over
 * afterwards: what is kept or given must not lie in them.
 */
final class Slides {
  /** A window that was emitted; {@code last}: that it is final. */
  record Window(long start, long end, boolean last, List<Object> results) {}

  private final Calls calls;
  private final Tws<byte[], Tuple2<byte[], byte[]>, byte[]> tws;
  private long watermark = 0;

  Slides(Calls calls, long size, EmitMode emit) {
    this.calls = calls;
    this.tws =
        new Tws<>(
            new Ahead(new SlidingAggregate(calls, size, emit), () -> watermark),
            block -> Long.MAX_VALUE);
  }

  /** A batch: what each key's events make, then what its timers do. */
  Map<String, List<Window>> batch(long millis, Map<String, List<Entry>> events, Random chance) {
    Map<String, List<Window>> emitted = new TreeMap<>();
    boolean moves = millis > watermark;
    watermark = millis;
    events.forEach(
        (key, of) -> {
          List<byte[]> blocks = blocks(of, chance);
          @SuppressWarnings({"unchecked", "rawtypes"})
          Tuple2<byte[], byte[]>[] rows =
              blocks.stream().map(block -> new Tuple2<>(key(key), block)).toArray(Tuple2[]::new);
          take(tws.feed(key(key), rows), emitted);
          for (byte[] block : blocks) Arrays.fill(block, (byte) 0xAA);
        });
    if (moves) take(tws.watermark(millis), emitted);
    return emitted;
  }

  /** A batch of the one key "k", in one block. */
  List<Window> batch(long millis, Entry... events) {
    Map<String, List<Entry>> of = events.length == 0 ? Map.of() : Map.of("k", List.of(events));
    return batch(millis, of, null).getOrDefault("k", List.of());
  }

  /** In any number of blocks, as of several tasks. */
  private static List<byte[]> blocks(List<Entry> events, Random chance) {
    List<byte[]> blocks = new ArrayList<>();
    BlockBuilder block = new BlockBuilder(64);
    for (Entry event : events) {
      if (chance != null && !block.isEmpty() && chance.nextInt(20) == 0) {
        blocks.add(block.build());
        block = new BlockBuilder(1);
      }
      block.add(new Change((byte) 0, event.time(), 0, 0, 0, null, event.bytes()));
    }
    blocks.add(block.build());
    if (chance != null) Collections.shuffle(blocks, chance);
    return blocks;
  }

  private void take(List<byte[]> blocks, Map<String, List<Window>> emitted) {
    List<DataType> types =
        new ArrayList<>(List.of(DataTypes.LongType, DataTypes.LongType, DataTypes.BooleanType));
    types.addAll(List.of(Functions.results(calls)));
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) {
        byte[] pair = block.after();
        int length = Platform.getInt(pair, Platform.BYTE_ARRAY_OFFSET);
        String key =
            (String)
                Rows.values(Arrays.copyOfRange(pair, 5, 5 + length), DataTypes.StringType).get(0);
        List<Object> row =
            Rows.values(
                Arrays.copyOfRange(pair, 5 + length, pair.length), types.toArray(DataType[]::new));
        Window window =
            new Window(
                (Long) row.get(0),
                (Long) row.get(1),
                (Boolean) row.get(2),
                row.subList(3, row.size()));
        if (block.time() != window.end())
          throw new AssertionError("the time of a window is its end");
        emitted.computeIfAbsent(key, none -> new ArrayList<>()).add(window);
      }
    }
  }

  /** As Spark groups by it: a hash, the row. */
  static byte[] key(String key) {
    byte[] row = Rows.of(key).bytes();
    byte[] bytes = new byte[8 + row.length];
    System.arraycopy(row, 0, bytes, 8, row.length);
    return bytes;
  }

  byte[] header(String key) {
    return tws.value("slide", key(key));
  }

  void keepHeader(String key, byte[] header) {
    tws.keep("slide", key(key), header);
  }

  Map<String, byte[]> map(String state, String key) {
    return tws.map(state, key(key));
  }
}
