package headrace.kernel.table;

import static headrace.kernel.table.Driven.texts;
import static headrace.kernel.table.Driven.upsert;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class TimelineTest {
  private static final long MS = 1000;

  private static Driven timeline() {
    return Driven.inEventTime(new Timeline(false));
  }

  private static Change row(long time, long version, String row) {
    return upsert(0, time, row == null ? Block.NO_VERSION : version, version, row);
  }

  @Test
  void changesWaitForTheWatermarkAndComeInTheOrderOfTheirTimes() {
    Driven timeline = timeline();
    assertEquals(
        List.of(), timeline.feed("k", row(9001, 0, "c"), row(2000, 1, "a"), row(2001, 2, "b")));
    assertEquals(List.of(), timeline.watermark(2));
    assertEquals(List.of("- > a@2000 v1", "a@2000 > b@2001 v2"), texts(timeline.watermark(9)));
    assertEquals(List.of("b@2001 > c@9001 v0"), texts(timeline.watermark(10)));
  }

  @Test
  void aMicrosecondBeforeTheWatermarkIsBeforeIt() {
    Driven timeline = timeline();
    timeline.feed("k", row(2000, 0, "a"), row(1999, 1, "b"));
    assertEquals(List.of("- > b@1999 v1"), texts(timeline.watermark(2)));
    assertEquals(List.of("b@1999 > a@2000 v0"), texts(timeline.watermark(3)));
  }

  @Test
  void ofOneTimeTheHighestVersionCountsInWhateverOrderTheyCome() {
    for (boolean turned : new boolean[] {false, true}) {
      Driven timeline = timeline();
      Change one = row(5, 1, "a");
      Change two = row(5, 2, "b");
      timeline.feed("k", turned ? two : one);
      timeline.feed("k", turned ? one : two);
      assertEquals(List.of("- > b@5 v2"), texts(timeline.watermark(1)));
    }
  }

  @Test
  void aRowThatStaysAsItIsKeepsItsTime() {
    Driven timeline = timeline();
    timeline.feed("k", row(1, 0, "a"), row(2, 1, "a"), row(3, 2, "b"));
    assertEquals(List.of("- > a@1 v0", "a@1 > b@3 v2"), texts(timeline.watermark(1)));
  }

  @Test
  void whatIsLateIsLeftOutIfTheRowIsNewerAndElseItCounts() {
    Driven timeline = timeline();
    timeline.feed("k", row(5, 5, "a"), row(9, 9, "a"));
    timeline.watermark(10);
    timeline.batch(10);
    // The row was confirmed at 9, so what is from 7 was replaced then.
    assertEquals(List.of("stale"), texts(timeline.feed("k", row(7, 7, "b"))));
    assertEquals(List.of("a@5 > c@11 v11"), texts(timeline.feed("k", row(11, 11, "c"))));
    assertEquals(List.of("- > d@3 v3"), texts(timeline.feed("l", row(3, 3, "d"))));
  }

  @Test
  void aDeletedRowDoesNotComeBackLate() {
    Driven timeline = timeline();
    timeline.feed("k", row(5, 5, "a"), row(9, 9, null));
    assertEquals(List.of("- > a@5 v5", "a@5 > -@9"), texts(timeline.watermark(1)));
    timeline.batch(1);
    assertEquals(List.of("stale"), texts(timeline.feed("k", row(8, 8, "b"))));
  }

  @Test
  void aNullKeyIsCountedUnlessItIsAKey() {
    assertEquals(List.of("no key"), texts(timeline().feed((String) null, row(1, 0, "a"))));
    Driven timeline = Driven.inEventTime(new Timeline(true));
    timeline.feed((String) null, row(1, 0, "a"));
    assertEquals(List.of("- > a@1 v0"), texts(timeline.watermark(1)));
  }

  @Test
  void anotherFormatIsRefused() {
    Driven timeline = timeline();
    timeline.keep("timeline", Driven.key("k"), new byte[] {9});
    assertThrows(StateFormatException.class, () -> timeline.feed("k", row(1, 0, "a")));
  }

  /**
   * What a batch brings is on time, in any order. The rows of a batch come before its timers, or
   * after.
   */
  @Test
  void whatIsEmittedIsTheSameHoweverItComes() {
    Chance.times(
        200,
        chance -> {
          int batches = 8;
          int step = 10;
          Map<String, List<Change>> made = new TreeMap<>();
          Map<String, List<String>> expected = new TreeMap<>();
          for (String key : List.of("k", "l", "m")) {
            TreeMap<Long, Change> newest = new TreeMap<>();
            for (int i = 0; i < 20; i++) {
              long time = chance.nextInt(batches * step) * MS + Chance.one(chance, 0, 1, 999);
              Change row =
                  row(time, i, chance.nextInt(5) == 0 ? null : Chance.one(chance, "a", "b", "c"));
              made.computeIfAbsent(key, none -> new ArrayList<>()).add(row);
              newest.put(time, row);
            }
            expected.put(key, model(newest));
          }
          for (int tries = 0; tries < 3; tries++) {
            Map<String, List<String>> found = run(made, batches, step, chance, tries == 1);
            assertEquals(expected, found);
          }
        });
  }

  private static List<String> model(TreeMap<Long, Change> newest) {
    List<String> changes = new ArrayList<>();
    String last = null;
    long since = 0;
    for (Change change : newest.values()) {
      String row = change.after() == null ? null : Driven.text(change.after());
      if (row == null ? last == null : row.equals(last)) continue;
      String version = row == null ? "" : " v" + change.version();
      changes.add(
          (last == null ? "-" : last + "@" + since)
              + " > "
              + (row == null ? "-" : row)
              + "@"
              + change.time()
              + version);
      last = row;
      since = change.time();
    }
    return changes;
  }

  private static Map<String, List<String>> run(
      Map<String, List<Change>> made, int batches, int step, Random chance, boolean timersFirst) {
    Map<String, List<String>> found = new TreeMap<>();
    made.forEach(
        (key, rows) -> {
          // One operator a key, so that what timers emit is known to be of it.
          Driven timeline = timeline();
          List<Change> out = new ArrayList<>();
          Map<Integer, List<Change>> coming = new TreeMap<>();
          for (Change row : rows) {
            int latest = (int) (row.time() / MS) / step;
            coming.computeIfAbsent(chance.nextInt(latest + 1), none -> new ArrayList<>()).add(row);
          }
          for (int batch = 0; batch < batches; batch++) {
            timeline.batch(batch * step);
            if (timersFirst && batch > 0) out.addAll(timeline.watermark(batch * step));
            List<Change> now = coming.get(batch);
            if (now != null) out.addAll(timeline.feed(Driven.key(key), now, chance));
            if (!timersFirst && batch > 0) out.addAll(timeline.watermark(batch * step));
            for (Change change : out)
              assertTrue(
                  change.time() < (long) batch * step * MS && change.sequence() == change.time());
          }
          out.addAll(timeline.watermark(batches * step + 1));
          found.put(key, texts(out));
        });
    return found;
  }
}
