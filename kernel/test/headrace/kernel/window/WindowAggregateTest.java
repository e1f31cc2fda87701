package headrace.kernel.window;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Rows;
import headrace.kernel.table.StateFormatException;
import headrace.kernel.window.frame.Frames;
import headrace.kernel.window.frame.Session;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Times of events are given in milliseconds here. */
class WindowAggregateTest {
  private static final long MS = 1000;
  private static final Functions FUNCTIONS =
      Sql.aggregates("x bigint", "count(*)", "sum(x)", "collect_list(x)").functions();

  private static Event event(double millis, long number) {
    return new Event(Math.round(millis * MS), number, Long.MIN_VALUE, Rows.of(number).bytes());
  }

  /** WindowAggregate, the batches they saw, and what they emitted. */
  private static final class Story {
    private final Timed timed;
    private final Outcome outcome;
    private final Random chance = new Random(0);

    Story(Frames frames, EmitMode emit, long tick) {
      timed = new Timed(new WindowAggregate(FUNCTIONS, frames, emit, tick * MS));
      outcome = new Outcome(FUNCTIONS, frames instanceof Session);
    }

    List<String> batch(long watermark, Event... events) {
      return outcome.texts(
          timed.batch(
              watermark, events.length == 0 ? Map.of() : Map.of("k", List.of(events)), chance));
    }
  }

  private static Story tumbling(EmitMode emit) {
    return new Story(Frames.fixed(10 * MS, 10 * MS, 0), emit, 0);
  }

  @Test
  void updatesAreToldAfterEachBatch() {
    Story story = tumbling(EmitMode.UPDATES);
    List<String> first =
        List.of("k [0, 10) [2, 3, [1, 2]] @9.999", "k [10, 20) [1, 3, [3]] @19.999");
    assertEquals(first, story.batch(0, event(3, 2), event(1, 1), event(10, 3)));
    assertEquals(List.of("k [10, 20) [2, 7, [3, 4]] @19.999"), story.batch(5, event(19.999, 4)));
    assertEquals(List.of(), story.batch(10));
    assertEquals(List.of(), story.batch(20));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void finalWindowsAreToldOnce() {
    Story story = tumbling(EmitMode.FINAL);
    assertEquals(List.of(), story.batch(0, event(1, 1), event(10, 3)));
    assertEquals(List.of(), story.batch(9, event(9, 2)));
    assertEquals(List.of("k [0, 10) final [2, 3, [1, 2]] @9.999"), story.batch(10));
    assertEquals(List.of("k [10, 20) final [2, 7, [3, 4]] @19.999"), story.batch(30, event(12, 4)));
    assertEquals(List.of(), story.batch(50));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void orBoth() {
    Story story = tumbling(EmitMode.ALL);
    assertEquals(List.of("k [0, 10) [1, 1, [1]] @9.999"), story.batch(0, event(1, 1)));
    assertEquals(
        List.of("k [0, 10) [2, 3, [1, 2]] @9.999", "k [0, 10) final [2, 3, [1, 2]] @9.999"),
        story.batch(12, event(9, 2)));
    assertEquals(List.of("k [10, 20) [1, 3, [3]] @19.999"), story.batch(12, event(12.5, 3)));
    assertEquals(List.of("k [10, 20) final [1, 3, [3]] @19.999"), story.batch(100));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void theWatermarkHasToReachTheMicrosecond() {
    Story story = new Story(Frames.fixed(10 * MS, 10 * MS, 1), EmitMode.FINAL, 0);
    story.batch(0, event(5, 1));
    assertEquals(List.of(), story.batch(10));
    assertEquals(List.of("k [0.001, 10.001) final [1, 1, [1]] @10"), story.batch(11));
  }

  @Test
  void ticksTellWhatWasThereThen() {
    Story story = new Story(Frames.fixed(10 * MS, 10 * MS, 0), EmitMode.EVERY, 5);
    assertEquals(List.of(), story.batch(0, event(1, 1), event(7, 2), event(5, 3)));
    assertEquals(List.of(), story.batch(4));
    assertEquals(List.of("k [0, 10) [1, 1, [1]] @5"), story.batch(5));
    assertEquals(
        List.of("k [0, 10) final [4, 10, [1, 3, 2, 4]] @10"), story.batch(14, event(9, 4)));
    assertEquals(List.of("k [10, 20) [0, null, []] @15"), story.batch(19));
    assertEquals(List.of("k [10, 20) final [0, null, []] @20"), story.batch(30));
    assertNull(story.timed.kept("k"), "a window without events was final");
    assertEquals(List.of(), story.batch(40));
    assertEquals(
        List.of("k [40, 50) [1, 5, [5]] @45", "k [40, 50) final [1, 5, [5]] @50"),
        story.batch(50, event(41, 5)));
    assertNotNull(story.timed.kept("k"));
  }

  @Test
  void aWindowThatEndsBetweenTicksIsToldAtItsEndToo() {
    Story story = new Story(Frames.fixed(10 * MS, 10 * MS, 0), EmitMode.EVERY, 7);
    assertEquals(
        List.of(
            "k [0, 10) [1, 1, [1]] @7",
            "k [0, 10) final [2, 3, [1, 2]] @10",
            "k [10, 20) [0, null, []] @14"),
        story.batch(19, event(1, 1), event(8, 2)));
    assertEquals(List.of("k [10, 20) final [0, null, []] @20"), story.batch(1000));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void aKeyIsKnownFromItsFirstEvent() {
    Story story = new Story(Frames.fixed(10 * MS, 10 * MS, 0), EmitMode.EVERY, 5);
    assertEquals(List.of(), story.batch(12, event(27, 1)));
    assertEquals(List.of(), story.batch(12, event(22, 2)));
    assertEquals(List.of("k [20, 30) [1, 2, [2]] @25"), story.batch(29));
  }

  @Test
  void aKeyThatIsForgottenLeavesNoWindowHalfTold() {
    Story story = new Story(Frames.fixed(10 * MS, 5 * MS, 0), EmitMode.EVERY, 5);
    List<String> expected =
        List.of(
            "k [-5, 5) final [1, 1, [1]] @5",
            "k [0, 10) [1, 1, [1]] @5",
            "k [0, 10) final [1, 1, [1]] @10",
            "k [5, 15) [0, null, []] @10",
            "k [5, 15) final [0, null, []] @15",
            "k [10, 20) [0, null, []] @15",
            "k [10, 20) gone [0, null, []] @15");
    assertEquals(expected, story.batch(99, event(1, 1)));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void whatHasComeEarlyKeepsNoKeyKnown() {
    Story story = new Story(Frames.fixed(10 * MS, 10 * MS, 0), EmitMode.EVERY, 10);
    List<String> emitted = story.batch(40, event(1, 1), event(35, 2), event(41, 3));
    List<String> expected =
        List.of(
            "k [0, 10) final [1, 1, [1]] @10",
            "k [10, 20) final [0, null, []] @20",
            "k [30, 40) final [1, 2, [2]] @40");
    assertEquals(expected, emitted);
  }

  @Test
  void manyTicksAtOnceAreManyBlocks() {
    Story story = new Story(Frames.fixed(5_000 * MS, 5_000 * MS, 0), EmitMode.EVERY, 1);
    List<String> emitted = story.batch(4_000, event(0, 1));
    assertEquals(4_000, emitted.size());
    assertEquals("k [0, 5000) [1, 1, [1]] @4000", emitted.get(3_999));
  }

  @Test
  void sessionsAreJoinedByALateEvent() {
    Story story = new Story(Frames.session(10 * MS), EmitMode.ALL, 0);
    assertEquals(
        List.of("k [0, 10) [1, 1, [1]] @9.999", "k [15, 25) [1, 2, [2]] @24.999"),
        story.batch(0, event(0, 1), event(15, 2)));
    assertEquals(
        List.of("k [15, 25) gone [1, 2, [2]] @24.999", "k [0, 25) [3, 6, [1, 3, 2]] @24.999"),
        story.batch(0, event(8, 3)));
    assertEquals(List.of("k [0, 25) final [3, 6, [1, 3, 2]] @24.999"), story.batch(25));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void aSessionThatBeginsEarlierIsAnother() {
    Story story = new Story(Frames.session(10 * MS), EmitMode.UPDATES, 0);
    story.batch(0, event(5, 1));
    assertEquals(
        List.of("k [5, 15) gone [1, 1, [1]] @14.999", "k [1, 15) [2, 3, [2, 1]] @14.999"),
        story.batch(0, event(1, 2)));
    assertEquals(List.of("k [1, 24) [3, 6, [2, 1, 3]] @23.999"), story.batch(0, event(14, 3)));
    assertEquals(List.of("k [1, 34) [4, 10, [2, 1, 3, 4]] @33.999"), story.batch(0, event(24, 4)));
    assertEquals(List.of("k [34.001, 44.001) [1, 5, [5]] @44"), story.batch(0, event(34.001, 5)));
  }

  @Test
  void ofSessionsTheOpenOnesAreToldAtATick() {
    Story story = new Story(Frames.session(10 * MS), EmitMode.EVERY, 5);
    assertEquals(List.of(), story.batch(2, event(1, 1), event(8, 2), event(30, 3)));
    assertEquals(
        List.of("k [1, 11) [1, 1, [1]] @5", "k [1, 18) [2, 3, [1, 2]] @10"), story.batch(11));
    assertEquals(
        List.of("k [1, 18) [2, 3, [1, 2]] @15", "k [1, 18) final [2, 3, [1, 2]] @18"),
        story.batch(29));
    assertEquals(
        List.of("k [30, 40) [1, 3, [3]] @35", "k [30, 40) final [1, 3, [3]] @40"), story.batch(99));
    assertNull(story.timed.kept("k"));
  }

  @Test
  void stateOfALaterFormatIsRefused() {
    for (EmitMode emit : EmitMode.values()) {
      Story story = new Story(Frames.session(10 * MS), emit, 5);
      story.batch(0, event(1, 1));
      byte[] later = story.timed.kept("k").clone();
      assertEquals(1, later[0], "the format comes first");
      later[0] = 2;
      story.timed.keep("k", later);
      var refused = assertThrows(StateFormatException.class, () -> story.batch(0, event(2, 2)));
      assertEquals("HEADRACE_STATE_FORMAT found=2 known=1", refused.getMessage());
      assertThrows(StateFormatException.class, () -> story.batch(100));
    }
  }

  @Test
  void nullIsAKeyLikeOthers() {
    Timed timed =
        new Timed(
            new WindowAggregate(FUNCTIONS, Frames.fixed(10 * MS, 10 * MS, 0), EmitMode.FINAL, 0));
    Map<String, List<Event>> events = new HashMap<>();
    events.put(null, List.of(event(1, 1)));
    var emitted = new Outcome(FUNCTIONS, false).texts(timed.batch(20, events, new Random(0)));
    assertEquals(List.of("null [0, 10) final [1, 1, [1]] @9.999"), emitted);
  }

  private static Frames anyFrames(Random chance) {
    long size = (1 + chance.nextInt(15)) * MS;
    long offset = (chance.nextInt(20) - 10) * MS;
    return switch (chance.nextInt(5)) {
      case 0 -> Frames.fixed(size, size, offset);
      case 1 -> Frames.fixed(size, (1 + chance.nextInt(20)) * MS, offset);
      case 2 -> Frames.cumulating(size, (1 + chance.nextInt(10)) * MS, offset);
      case 3 ->
          Frames.calendar(
              "day", ZoneId.of("Europe/Berlin"), 3_600_000_000L + chance.nextInt(60) * MS);
      default -> Frames.session(size);
    };
  }

  private static void history(Random chance, EmitMode emit) {
    Frames frames = anyFrames(chance);
    long tick = (1 + chance.nextInt(12)) * MS;
    List<String> keys = List.of("k", "l", "m");
    Map<String, Model> models = new TreeMap<>();
    for (String key : keys) models.put(key, new Model(key, frames, emit, tick));
    Timed timed = new Timed(new WindowAggregate(FUNCTIONS, frames, emit, tick));
    Outcome outcome = new Outcome(FUNCTIONS, frames instanceof Session);
    long before = 0;
    long watermark = 0;
    long number = 0;
    for (int batch = 0; batch < 12; batch++) {
      if (batch == 11) watermark += 100;
      Map<String, List<Event>> events = new TreeMap<>();
      for (String key : keys) {
        List<Event> some = new ArrayList<>();
        // Late is what the watermark of the batch before has reached.
        for (int more = batch == 11 ? 0 : chance.nextInt(4); more > 0; more--) {
          double micro =
              frames instanceof Session && emit == EmitMode.EVERY ? 0 : chance.nextInt(2) / 1000.0;
          some.add(event(before + 1 + chance.nextInt(25) + micro, number++));
        }
        if (!some.isEmpty()) events.put(key, some);
      }
      List<String> expected = new ArrayList<>();
      long now = watermark * MS;
      models.forEach(
          (key, model) -> expected.addAll(model.batch(events.getOrDefault(key, List.of()), now)));
      List<String> found = outcome.texts(timed.batch(watermark, events, chance));
      assertEquals(
          sorted(expected),
          sorted(found),
          frames + " tick " + tick + ", batch " + batch + " at " + watermark);
      before = watermark;
      watermark += chance.nextInt(3) == 0 ? 0 : chance.nextInt(20);
    }
  }

  private static List<String> sorted(List<String> texts) {
    return texts.stream().map(WindowAggregateTest::inOrder).sorted().toList();
  }

  /** A list in the order of arrival becomes one in order. */
  private static String inOrder(String text) {
    int from = text.lastIndexOf('[') + 1;
    int to = text.indexOf(']');
    if (from >= to) return text;
    List<Long> numbers =
        Arrays.stream(text.substring(from, to).split(", ")).map(Long::valueOf).sorted().toList();
    return text.substring(0, from - 1) + numbers + text.substring(to + 1);
  }

  @Test
  void historiesOfUpdates() {
    Chance.times(150, chance -> history(chance, EmitMode.UPDATES));
  }

  @Test
  void historiesOfFinalWindows() {
    Chance.times(150, chance -> history(chance, EmitMode.FINAL));
  }

  @Test
  void historiesOfBoth() {
    Chance.times(150, chance -> history(chance, EmitMode.ALL));
  }

  @Test
  void historiesOfTicks() {
    Chance.times(150, chance -> history(chance, EmitMode.EVERY));
  }
}
