package headrace.kernel.slide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.slide.Slides.Window;
import headrace.kernel.table.Chance;
import headrace.kernel.table.Functions;
import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.StateFormatException;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Call.Kind;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.window.EmitMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Times of events are microseconds, watermarks are milliseconds. */
class SlidingAggregateTest {
  private static final long MS = 1000;
  private static final DataType[] LONG = {DataTypes.LongType};
  private static final Calls COUNT_AND_SUM =
      new Calls(new Call[] {call(Kind.COUNT), call(Kind.SUM)}, 1);

  private static Call call(Kind kind) {
    return new Call(kind, 0, LONG, -1, 0, false, DataTypes.LongType);
  }

  private static Entry event(long millis, long value) {
    return new Entry(LONG, millis * MS, value);
  }

  /** WindowRows as text: end in milliseconds, sum of count, ! for final. */
  private static List<String> texts(List<Window> windows) {
    return windows.stream()
        .map(
            window ->
                window.end() / MS
                    + ": "
                    + window.results().get(1)
                    + " of "
                    + window.results().get(0)
                    + (window.last() ? "!" : ""))
        .toList();
  }

  @Test
  void aWindowEndsWhereAnEventEntersAndWhereOneLeaves() {
    Slides slides = new Slides(COUNT_AND_SUM, 10 * MS, EmitMode.FINAL);
    assertEquals(List.of(), slides.batch(0, event(7, 2), event(5, 1), event(12, 4)));
    assertEquals(List.of(), slides.batch(4));
    assertEquals(List.of("5: 1 of 1!"), texts(slides.batch(5)));
    assertEquals(List.of("7: 3 of 2!", "12: 7 of 3!", "15: 6 of 2!"), texts(slides.batch(16)));
    assertEquals(List.of("17: 4 of 1!", "22: null of 0!"), texts(slides.batch(100)));
    assertNull(slides.header("k"));
    assertTrue(slides.map("events", "k").isEmpty());
  }

  @Test
  void anEventOfTheBatchThatMovesTheWatermarkIsFinalAtOnce() {
    Slides slides = new Slides(COUNT_AND_SUM, 10 * MS, EmitMode.FINAL);
    slides.batch(3, event(5, 1));
    assertEquals(
        List.of("4: 2 of 1!", "5: 3 of 2!", "14: 1 of 1!"),
        texts(slides.batch(14, event(4, 2), event(15, 4))));
    assertEquals(List.of("15: 4 of 1!", "25: null of 0!"), texts(slides.batch(30)));
  }

  @Test
  void whatIsNotFinalIsToldAtOnceAndAgainWhenAnEventChangesIt() {
    Slides slides = new Slides(COUNT_AND_SUM, 10 * MS, EmitMode.UPDATES);
    assertEquals(List.of("5: 1 of 1"), texts(slides.batch(0, event(5, 1))));
    assertEquals(List.of("9: 3 of 2"), texts(slides.batch(0, event(9, 2))));
    assertEquals(List.of("6: 5 of 2", "9: 7 of 3"), texts(slides.batch(0, event(6, 4))));
    assertEquals(List.of(), slides.batch(9));
    assertEquals(
        List.of("15: 6 of 2", "16: 2 of 1", "19: null of 0", "30: 8 of 1"),
        texts(slides.batch(9, event(30, 8))));
    assertEquals(List.of(), slides.batch(30));
    assertEquals(List.of("40: null of 0!"), texts(slides.batch(50)));
    assertNull(slides.header("k"));
  }

  @Test
  void bothToldAtOnceAndWhenFinal() {
    Slides slides = new Slides(COUNT_AND_SUM, 10 * MS, EmitMode.ALL);
    assertEquals(List.of("5: 1 of 1"), texts(slides.batch(0, event(5, 1))));
    assertEquals(List.of("5: 1 of 1!", "9: 3 of 2"), texts(slides.batch(5, event(9, 2))));
    assertEquals(List.of("9: 3 of 2!", "15: 2 of 1!", "19: null of 0!"), texts(slides.batch(20)));
  }

  @Test
  void theMicrosecondCounts() {
    Slides slides = new Slides(COUNT_AND_SUM, 10, EmitMode.FINAL);
    slides.batch(
        0, new Entry(LONG, 5_991, 1L), new Entry(LONG, 5_001, 1L), new Entry(LONG, 6_000, 2L));
    assertEquals(List.of(), slides.batch(5));
    var ends = slides.batch(6).stream().map(Window::end).toList();
    assertEquals(List.of(5_001L, 5_011L, 5_991L, 6_000L), ends);
    assertEquals(List.of(6_001L, 6_010L), slides.batch(7).stream().map(Window::end).toList());
  }

  /** Events of any order within the lateness, in batches, with a watermark that follows. */
  private static void random(
      Random chance, Calls calls, EmitMode emit, int events, int keys, long span, boolean few) {
    long size = 1 + (chance.nextInt(4) == 0 ? chance.nextInt(20) : chance.nextInt((int) span));
    long lateness = chance.nextInt((int) span / 2);
    // Coarse times are often equal, and events leave just when others enter.
    long grain = Chance.one(chance, 1L, 500L, 1000L);
    if (grain > 1) size = (size / grain + 1) * grain;
    Slides slides = new Slides(calls, size, emit);
    Map<String, Model> models = new TreeMap<>();
    for (int i = 0; i < keys; i++) models.put("key" + i, new Model(calls, size, emit));
    long now = 1;
    long watermark = 0;
    long step = Math.max(1, span * 2 / events);
    int most = 1 + chance.nextInt(chance.nextBoolean() ? 4 : events);
    for (int left = events; left > 0; ) {
      Map<String, List<Entry>> batch = new TreeMap<>();
      for (int n = Math.min(left, chance.nextInt(most + 1)); n > 0; n--, left--) {
        now += chance.nextInt((int) step * 2);
        long time =
            Math.max(
                watermark * MS + 1, now - (lateness == 0 ? 0 : chance.nextInt((int) lateness)));
        if (time / grain * grain > watermark * MS) time = time / grain * grain;
        Entry entry = few ? Functions.few(chance) : Functions.many(chance);
        List<Entry> of =
            batch.computeIfAbsent("key" + chance.nextInt(keys), none -> new ArrayList<>());
        of.add(new Entry(entry.types(), time, entry.values()));
        if (chance.nextInt(10) == 0) of.add(of.get(of.size() - 1));
      }
      if (left == 0 || chance.nextInt(20) == 0) now += chance.nextInt((int) (size + lateness) * 2);
      if (chance.nextInt(3) > 0) watermark = Math.max(watermark, (now - lateness) / MS);
      check(slides, models, watermark, batch, chance);
    }
    for (int i = 0; i < 3; i++)
      check(
          slides,
          models,
          watermark += 1 + chance.nextInt((int) ((size + lateness) / MS) + 1),
          Map.of(),
          chance);
    check(slides, models, (now + size) / MS + 1 + watermark, Map.of(), chance);
    for (String key : models.keySet()) {
      assertNull(slides.header(key), "nothing is left");
      assertTrue(slides.map("events", key).isEmpty());
      long maps =
          Arrays.stream(calls.calls())
              .filter(call -> call.kind() == Kind.COUNT_DISTINCT || call.most() > 0)
              .count();
      for (int i = 0; i < maps; i++) assertTrue(slides.map("values" + i, key).isEmpty());
    }
  }

  private static void check(
      Slides slides,
      Map<String, Model> models,
      long watermark,
      Map<String, List<Entry>> batch,
      Random chance) {
    Map<String, List<Window>> emitted = slides.batch(watermark, batch, chance);
    models.forEach(
        (key, model) ->
            model.batch(
                watermark,
                batch.getOrDefault(key, List.of()),
                emitted.getOrDefault(key, List.of())));
  }

  @Test
  void eachWindowIsWhatItsEventsMake() {
    Calls all = Functions.all();
    Chance.times(
        120,
        chance ->
            random(
                chance,
                all,
                Chance.one(chance, EmitMode.values()),
                40,
                3,
                30_000,
                chance.nextBoolean()));
  }

  @Test
  void theFirstOfAnOrderToo() {
    Calls ordered = Functions.ordered();
    // So few that they fit into a head: here a map has no order.
    Chance.times(
        120,
        chance ->
            random(chance, ordered, Chance.one(chance, EmitMode.values()), 14, 1, 30_000, true));
  }

  @Test
  void manyEventsInManyChunksToo() {
    Calls all = Functions.all();
    List<Kind> kinds = List.of(Kind.COUNT, Kind.COUNT_DISTINCT);
    Call[] some =
        Arrays.stream(all.calls()).filter(call -> kinds.contains(call.kind())).toArray(Call[]::new);
    Calls calls = new Calls(some, all.arguments());
    Chance.times(
        9,
        chance ->
            random(chance, calls, Chance.one(chance, EmitMode.values()), 1200, 1, 200_000, false));
  }

  @Test
  void stateIsAsLargeAsTheWindow() {
    Slides slides = new Slides(COUNT_AND_SUM, 100 * MS, EmitMode.FINAL);
    for (int batch = 1; batch <= 400; batch++) {
      Entry[] events = new Entry[50];
      for (int i = 0; i < events.length; i++) events[i] = event(batch * 10 + i % 10, i);
      slides.batch(batch * 10 - 20 > 0 ? batch * 10 - 20 : 0, events);
      // About 500 in the window, 150 that wait; of what has left, at most a part of a chunk.
      int bytes = slides.map("events", "k").values().stream().mapToInt(chunk -> chunk.length).sum();
      assertTrue(bytes < (650 + Events.MOST) * 28 + 1000, "bytes: " + bytes);
      assertTrue(slides.map("events", "k").size() < 20);
      assertTrue(slides.header("k").length < 400);
    }
  }

  @Test
  void stateOfALaterKernelIsRefused() {
    for (EmitMode emit : EnumSet.complementOf(EnumSet.of(EmitMode.EVERY))) {
      Slides slides = new Slides(COUNT_AND_SUM, 10 * MS, emit);
      slides.batch(0, event(5, 1));
      byte[] later = slides.header("k").clone();
      assertEquals(1, later[0], "the format comes first");
      later[0] = 2;
      slides.keepHeader("k", later);
      assertThrows(StateFormatException.class, () -> slides.batch(0, event(6, 1)));
      assertThrows(StateFormatException.class, () -> slides.batch(5));
    }
  }
}
