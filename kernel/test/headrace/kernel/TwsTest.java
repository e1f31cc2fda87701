package headrace.kernel;

import static headrace.kernel.Tws.bytes;
import static headrace.kernel.Tws.texts;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Shows how a processor is driven, on one that is small but has all parts: two states, a timer,
 * byte[] everywhere.
 */
class TwsTest {
  private static final byte[] OSLO = bytes("oslo");
  private static final byte[] ROME = bytes("rome");

  /**
   * Emits each (field, value) that changes something. Without a change for 10 ms it says goodbye,
   * and forgets.
   */
  private static final class Changes
      extends StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> {
    private static final long REST = 10;

    private final boolean timed;
    private transient MapState<byte[], byte[]> latest;
    private transient ValueState<Long> timer;

    Changes(boolean timed) {
      this.timed = timed;
    }

    @Override
    public void init(OutputMode output, TimeMode time) {
      latest =
          getHandle().getMapState("latest", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
      timer = getHandle().getValueState("timer", Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public Iterator<byte[]> handleInputRows(
        byte[] key, Iterator<Tuple2<byte[], byte[]>> rows, TimerValues now) {
      List<byte[]> changes = new ArrayList<>();
      while (rows.hasNext()) {
        Tuple2<byte[], byte[]> row = rows.next();
        byte[] before = latest.getValue(row._1());
        if (before != null && new String(before).equals(new String(row._2()))) continue;
        latest.updateValue(row._1(), row._2());
        changes.add(
            bytes(new String(key) + "." + new String(row._1()) + "=" + new String(row._2())));
      }
      if (timed && !changes.isEmpty()) restart(now.getCurrentWatermarkInMs() + REST);
      return CollectionConverters.asScala(changes.iterator());
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(
        byte[] key, TimerValues now, ExpiredTimerInfo expired) {
      latest.clear();
      timer.clear();
      String text =
          new String(key)
              + " gone at "
              + expired.getExpiryTimeInMs()
              + ", now "
              + now.getCurrentWatermarkInMs();
      return CollectionConverters.asScala(List.of(bytes(text)).iterator());
    }

    private void restart(long millis) {
      if (timer.exists()) getHandle().deleteTimer(timer.get());
      getHandle().registerTimer(millis);
      timer.update(millis);
    }
  }

  /** Emits the row when the clock has passed its key, a number of milliseconds. */
  private static final class Delay extends StatefulProcessor<Long, String, String> {
    private transient ValueState<String> held;

    @Override
    public void init(OutputMode output, TimeMode time) {
      held = getHandle().getValueState("held", Encoders.STRING(), TTLConfig.NONE());
    }

    @Override
    public Iterator<String> handleInputRows(Long key, Iterator<String> rows, TimerValues now) {
      held.update(rows.next());
      getHandle().registerTimer(now.getCurrentProcessingTimeInMs() + key);
      return CollectionConverters.asScala(List.<String>of().iterator());
    }

    @Override
    public Iterator<String> handleExpiredTimer(
        Long key, TimerValues now, ExpiredTimerInfo expired) {
      return CollectionConverters.asScala(List.of(held.get()).iterator());
    }
  }

  private static Tuple2<byte[], byte[]> row(String field, String value) {
    return new Tuple2<>(bytes(field), bytes(value));
  }

  @Test
  void stateIsKeptFromBatchToBatchByKey() {
    var tws = new Tws<>(new Changes(false));
    var first = tws.feed(OSLO, row("temp", "1"), row("wind", "5"), row("temp", "1"));
    assertEquals(List.of("oslo.temp=1", "oslo.wind=5"), texts(first));
    assertEquals(List.of("rome.temp=1"), texts(tws.feed(ROME, row("temp", "1"))));
    assertEquals(List.of("oslo.wind=6"), texts(tws.feed(OSLO, row("temp", "1"), row("wind", "6"))));
  }

  @Test
  void equalArraysAreOneKey() {
    var tws = new Tws<>(new Changes(false));
    byte[] key = bytes("oslo");
    tws.feed(key, row("temp", "1"));
    key[0] = 'x';
    assertEquals(List.of(), tws.feed(bytes("oslo"), row("temp", "1")));
    assertEquals(1, tws.map("latest", bytes("oslo")).size());
    assertTrue(tws.map("latest", key).isEmpty());
  }

  @Test
  void theWatermarkFiresTimersEarliestFirst() {
    var tws = new Tws<>(new Changes(true), row -> Long.MAX_VALUE);
    tws.feed(OSLO, row("temp", "1"));
    assertEquals(List.of(), tws.watermark(5));
    tws.feed(ROME, row("temp", "1"));
    assertEquals(15L, tws.<Long>value("timer", ROME));
    assertEquals(
        List.of("oslo gone at 10, now 20", "rome gone at 15, now 20"), texts(tws.watermark(20)));
    assertNull(tws.value("timer", ROME));
    assertEquals(List.of("oslo.temp=1"), texts(tws.feed(OSLO, row("temp", "1"))));
  }

  @Test
  void aTimerThatWasDeletedDoesNotFire() {
    var tws = new Tws<>(new Changes(true), row -> Long.MAX_VALUE);
    tws.feed(OSLO, row("temp", "1"));
    tws.watermark(9);
    tws.feed(OSLO, row("temp", "2"));
    assertEquals(List.of(), tws.watermark(18));
    assertEquals(List.of("oslo gone at 19, now 19"), texts(tws.watermark(19)));
  }

  @Test
  void lateRowsDoNotReachTheProcessor() {
    var tws = new Tws<>(new Changes(true), row -> Long.parseLong(new String(row._2())));
    tws.watermark(100);
    assertEquals(
        List.of("oslo.temp=101"), texts(tws.feed(OSLO, row("temp", "100"), row("temp", "101"))));
  }

  @Test
  void theClockFiresTimersToo() {
    var tws = new Tws<>(new Delay(), TimeMode.ProcessingTime(), OutputMode.Append(), null);
    tws.feed(20L, "slow");
    tws.feed(10L, "quick");
    assertEquals(List.of(), tws.clock(9));
    assertEquals(List.of("quick", "slow"), tws.clock(20));
  }

  @Test
  void whatSparkRefusesIsThrownAsItIs() {
    var tws = new Tws<>(new Delay());
    assertThrows(IllegalArgumentException.class, () -> tws.feed(1L, "no timers without time"));
  }
}
