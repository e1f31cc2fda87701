package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Key;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A stateful operator: blocks of one key in, blocks out. Its state begins with a format number (see
 * ARCHITECTURE.md).
 */
public abstract class Operator extends StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> {
  /** The side of changes that are emitted. */
  public static final byte OUT = 0;

  /**
   * A block that begins with one of these holds a count of dropped changes: out of date, or without
   * a key.
   */
  protected static final byte STALE = (byte) Block.NO_CHANGES;

  static final byte NO_KEY = (byte) (Block.NO_CHANGES + 1);

  /** Likewise: how many windows were closed to late events. */
  public static final byte LATE = (byte) (Block.NO_CHANGES + 2);

  public static final int ENOUGH = 1 << 16;

  /** The blocks of a batch, by side. An operator may clear a side that it does not read again. */
  public record Input(List<byte[]> left, List<byte[]> right) {
    static Input of(scala.collection.Iterator<Tuple2<byte[], byte[]>> rows) {
      Input input = new Input(new ArrayList<>(), new ArrayList<>());
      while (rows.hasNext()) {
        byte[] block = rows.next()._2();
        (Block.side(block) == 0 ? input.left : input.right).add(block);
      }
      return input;
    }
  }

  protected abstract Iterator<byte[]> handle(byte[] key, Input input, TimerValues times);

  @Override
  public final scala.collection.Iterator<byte[]> handleInputRows(
      byte[] key, scala.collection.Iterator<Tuple2<byte[], byte[]>> rows, TimerValues times) {
    return CollectionConverters.asScala(handle(Key.row(key), Input.of(rows), times));
  }

  protected final ValueState<byte[]> value(String name) {
    return getHandle().getValueState(name, Encoders.BINARY(), TTLConfig.NONE());
  }

  final ListState<byte[]> list(String name) {
    return getHandle().getListState(name, Encoders.BINARY(), TTLConfig.NONE());
  }

  protected final MapState<String, byte[]> map(String name) {
    return getHandle().getMapState(name, Encoders.STRING(), Encoders.BINARY(), TTLConfig.NONE());
  }

  public static Iterator<byte[]> none() {
    return List.<byte[]>of().iterator();
  }

  static Iterator<byte[]> one(BlockBuilder block) {
    return block.isEmpty() ? none() : List.of(block.build()).iterator();
  }

  public static Iterator<byte[]> with(Iterator<byte[]> blocks, byte what, int count) {
    if (count == 0) return blocks;
    List<byte[]> all =
        new ArrayList<>(List.of(ByteBuffer.allocate(5).put(what).putInt(count).array()));
    blocks.forEachRemaining(all::add);
    return all.iterator();
  }

  /**
   * Whether one of the key's columns is null; there is room for 64 of them in the first word of a
   * row.
   */
  static boolean hasNull(byte[] key) {
    return Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET) != 0;
  }

  static int count(List<byte[]> blocks) {
    int count = 0;
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) count++;
    }
    return count;
  }
}
