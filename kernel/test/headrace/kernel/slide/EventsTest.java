package headrace.kernel.slide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.table.Chance;
import headrace.kernel.table.Rows;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.table.aggregate.Group;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class EventsTest {
  /** A key's events in a map that counts; between batches they are written and read. */
  private static final class StoredRow {
    final Map<Object, Object> map = new HashMap<>();
    final Group group = new Group(new Calls(new Call[0], 1), () -> null);
    final Arrivals arrivals = new Arrivals();
    final Events events;
    int reads;
    int writes;

    @SuppressWarnings("unchecked")
    StoredRow() {
      events =
          new Events(
              (MapState<String, byte[]>)
                  Proxy.newProxyInstance(
                      EventsTest.class.getClassLoader(),
                      new Class<?>[] {MapState.class},
                      (self, method, arguments) ->
                          switch (method.getName()) {
                            case "getValue" -> {
                              reads++;
                              yield map.get(arguments[0]);
                            }
                            case "updateValue" -> {
                              writes++;
                              yield map.put(arguments[0], arguments[1]);
                            }
                            default -> map.remove(arguments[0]);
                          }));
    }

    void add(long... times) {
      BlockBuilder block = new BlockBuilder(64);
      byte[] row = Rows.of(new DataType[] {DataTypes.LongType}, 1L).bytes();
      for (long time : times) block.add(new Change((byte) 0, time, 0, 0, 0, null, row));
      arrivals.read(List.of(block.build()), Long.MIN_VALUE);
      events.add(arrivals);
    }

    /** Stores, and begins anew from what is kept. */
    void again() {
      try {
        events.store();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        events.write(new DataOutputStream(bytes));
        events.read(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    void enterTo(long time) {
      while (events.entering() <= time && events.entering() != Events.NONE) events.enter(group);
    }

    void leaveTo(long time) {
      while (events.leaving() <= time && events.leaving() != Events.NONE) events.leave(group);
    }
  }

  @Test
  void aSmallBatchTouchesOnlyTheChunksItNeeds() {
    StoredRow kept = new StoredRow();
    long[] times = new long[20_000];
    for (int i = 0; i < times.length; i++) times[i] = i;
    kept.add(times);
    kept.enterTo(19_000);
    kept.again();
    int chunks = kept.map.size();
    assertTrue(chunks >= times.length / Events.MOST);
    kept.reads = kept.writes = 0;
    kept.add(20_000, 20_001);
    kept.enterTo(19_010);
    kept.leaveTo(10);
    kept.again();
    assertTrue(
        kept.reads <= 2,
        "the one with those that enter, the one with those that leave: " + kept.reads);
    assertEquals(1, kept.writes);
    kept.add(19_500);
    kept.again();
    assertEquals(2, kept.writes, "the one it belongs to");
    assertTrue(kept.map.size() <= chunks + 2);
  }

  @Test
  void smallBatchesFillAChunkBeforeTheyBeginAnother() {
    StoredRow kept = new StoredRow();
    for (int i = 0; i < 1000; i++) {
      kept.add(i);
      kept.again();
    }
    assertTrue(kept.map.size() < 40, "chunks: " + kept.map.size());
  }

  @Test
  void eventsEnterAndLeaveInTheOrderOfTheirTimesHoweverTheyCome() {
    Chance.times(
        100,
        chance -> {
          StoredRow kept = new StoredRow();
          PriorityQueue<Long> waiting = new PriorityQueue<>();
          PriorityQueue<Long> inside = new PriorityQueue<>();
          long frontier = 0;
          int most = Chance.one(chance, 3, 50, 900);
          for (int batch = 0; batch < 40; batch++) {
            List<Long> times = new ArrayList<>();
            for (int i = chance.nextInt(most); i > 0; i--)
              times.add(frontier + 1 + chance.nextInt(Chance.one(chance, 10, 1000)));
            kept.add(times.stream().mapToLong(time -> time).toArray());
            waiting.addAll(times);
            frontier += chance.nextInt(300);
            while (!waiting.isEmpty() && waiting.peek() <= frontier) {
              assertEquals(waiting.peek(), kept.events.entering());
              kept.events.enter(kept.group);
              inside.add(waiting.poll());
            }
            assertEquals(waiting.isEmpty() ? Events.NONE : waiting.peek(), kept.events.entering());
            for (int left = chance.nextInt(inside.size() + 1); left > 0; left--) {
              assertEquals(inside.poll(), kept.events.leaving());
              kept.events.leave(kept.group);
            }
            assertEquals(inside.isEmpty() ? Events.NONE : inside.peek(), kept.events.leaving());
            kept.again();
          }
          kept.enterTo(Long.MAX_VALUE - 1);
          kept.leaveTo(Long.MAX_VALUE - 1);
          kept.events.store();
          assertTrue(kept.map.isEmpty());
        });
  }
}
