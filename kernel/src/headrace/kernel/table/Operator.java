package headrace.kernel.table;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** A stateful operator: blocks of one key in, blocks out. What it keeps begins with a format number (docs in ARCHITECTURE.md). */
abstract class Operator extends StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> {
  /** The side of changes that are given on; another one only counts what was left out. */
  static final byte OUT = 0;

  static final byte STALE = 100;
  static final int ENOUGH = 1 << 16;

  /** The blocks of a batch, by side. An operator that reads none of a side's blocks twice can let go of them as it goes. */
  record Input(List<byte[]> left, List<byte[]> right) {
    static Input of(scala.collection.Iterator<Tuple2<byte[], byte[]>> rows) {
      Input input = new Input(new ArrayList<>(), new ArrayList<>());
      while (rows.hasNext()) {
        byte[] block = rows.next()._2();
        // All changes of a block are of one side.
        (block[0] == 0 ? input.left : input.right).add(block);
      }
      return input;
    }
  }

  abstract Iterator<byte[]> handle(byte[] key, Input input, TimerValues times);

  @Override
  public final scala.collection.Iterator<byte[]> handleInputRows(
      byte[] key, scala.collection.Iterator<Tuple2<byte[], byte[]>> rows, TimerValues times) {
    return CollectionConverters.asScala(handle(key, Input.of(rows), times));
  }

  final ValueState<byte[]> value(String name) {
    return getHandle().getValueState(name, Encoders.BINARY(), TTLConfig.NONE());
  }

  final ListState<byte[]> list(String name) {
    return getHandle().getListState(name, Encoders.BINARY(), TTLConfig.NONE());
  }

  final MapState<String, byte[]> map(String name) {
    return getHandle().getMapState(name, Encoders.STRING(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** The changes in the order in which they happened. */
  static List<Change> ordered(List<byte[]> blocks) {
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) changes.add(block.change());
    }
    if (changes.size() > 1) changes.sort(Comparator.comparingLong(Change::sequence));
    return changes;
  }

  static Iterator<byte[]> one(BlockBuilder block) {
    return block.isEmpty() ? List.<byte[]>of().iterator() : List.of(block.build()).iterator();
  }

  /** Says that so many changes came with a version older than the one that is known. */
  static void stale(BlockBuilder out, int count) {
    for (int i = 0; i < count; i++) out.add(new Change(STALE, 0, 0, 0, 0, null, null));
  }
}
