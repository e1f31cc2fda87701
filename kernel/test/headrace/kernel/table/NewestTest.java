package headrace.kernel.table;

import static headrace.kernel.table.Driven.texts;
import static headrace.kernel.table.Driven.upsert;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NewestTest {
  private static final long NO_VERSION = Block.NO_VERSION;

  /** As the log has it: versions are offsets, and a delete has none. */
  private static Change logged(long time, long offset, String row) {
    return upsert(0, time, row == null ? NO_VERSION : offset, offset, row);
  }

  @Test
  void aChangeKnowsTheRowBeforeItAndItsTime() {
    Driven newest = Driven.of(new Newest(false, false, StepSize.RECORD));
    assertEquals(List.of("- > a@1 v1"), texts(newest.feed("k", logged(1, 0, "a"))));
    assertEquals(
        List.of("a@1 > b@2 v2", "b@2 > c@3 v3"),
        texts(newest.feed("k", logged(2, 1, "b"), logged(3, 2, "c"))));
    assertEquals(List.of("c@3 > -@4 v4"), texts(newest.feed("k", logged(4, 3, null))));
    assertEquals(List.of("- > a@5 v5"), texts(newest.feed("k", logged(5, 4, "a"))));
  }

  @Test
  void keysHaveNothingToDoWithEachOther() {
    Driven newest = Driven.of(new Newest(false, false, StepSize.RECORD));
    newest.feed("k", logged(1, 0, "a"));
    assertEquals(List.of("- > b@2 v2"), texts(newest.feed("l", logged(2, 1, "b"))));
    assertEquals(List.of("a@1 > c@3 v3"), texts(newest.feed("k", logged(3, 2, "c"))));
  }

  @Test
  void whatChangesNothingIsNotToldAndTheRowKeepsItsTime() {
    Driven newest = Driven.of(new Newest(false, false, StepSize.RECORD));
    newest.feed("k", logged(1, 0, "a"));
    assertEquals(List.of(), newest.feed("k", logged(2, 1, "a"), logged(3, 2, "a")));
    assertEquals(List.of("a@1 > b@4 v4"), texts(newest.feed("k", logged(4, 3, "b"))));
    assertEquals(List.of(), newest.feed("unknown", logged(5, 4, null)));
  }

  @Test
  void whatComesAndGoesInABatchIsTold() {
    Driven newest = Driven.of(new Newest(false, false, StepSize.RECORD));
    assertEquals(
        List.of("- > a@1 v1", "a@1 > -@2 v2"),
        texts(newest.feed("k", logged(1, 0, "a"), logged(2, 1, null))));
    assertNull(newest.value("newest", "k"));
  }

  @Test
  void aRowWithAnOlderVersionIsLeftOutAndCounted() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    newest.feed("k", upsert(0, 1, 5, 0, "a"));
    assertEquals(List.of("stale"), texts(newest.feed("k", upsert(0, 2, 4, 1, "b"))));
    var out =
        newest.feed(
            "k", upsert(0, 3, 7, 2, "c"), upsert(0, 4, 6, 3, "d"), upsert(0, 5, -1, 4, "e"));
    assertEquals(List.of("stale", "stale", "a@1 > c@3 v3"), texts(out));
  }

  @Test
  void ofEqualVersionsTheLogsLastHolds() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    var out =
        newest.feed("k", upsert(0, 2, 5, 1, "b"), upsert(0, 1, 5, 0, "a"), upsert(0, 3, 5, 2, "c"));
    assertEquals(List.of("- > a@1 v1", "a@1 > b@2 v2", "b@2 > c@3 v3"), texts(out));
  }

  @Test
  void aRowThatStaysWhatItIsTakesTheNewVersion() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    newest.feed("k", upsert(0, 1, 5, 0, "a"), upsert(0, 2, 8, 1, "a"));
    assertEquals(List.of("stale"), texts(newest.feed("k", upsert(0, 3, 7, 2, "b"))));
  }

  @Test
  void aDeleteHoldsWhateverIsKnownAndTheVersionIsRemembered() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    newest.feed("k", upsert(0, 1, 5, 0, "a"));
    assertEquals(
        List.of("a@1 > -@2 v2"), texts(newest.feed("k", upsert(0, 2, NO_VERSION, 1, null))));
    assertNotNull(newest.value("newest", "k"));
    assertEquals(List.of("stale"), texts(newest.feed("k", upsert(0, 3, 4, 2, "b"))));
    assertEquals(List.of("- > c@4 v4"), texts(newest.feed("k", upsert(0, 4, 5, 3, "c"))));
  }

  @Test
  void aRowWithoutAVersionHoldsAndLeavesTheVersion() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    newest.feed("k", upsert(0, 1, 5, 0, "a"));
    assertEquals(
        List.of("a@1 > b@2 v2"), texts(newest.feed("k", upsert(0, 2, NO_VERSION, 1, "b"))));
    assertEquals(List.of("stale"), texts(newest.feed("k", upsert(0, 3, 4, 2, "c"))));
  }

  @Test
  void withoutVersionsADeletedKeyLeavesNothing() {
    Driven newest = Driven.of(new Newest(false, false, StepSize.RECORD));
    newest.feed("k", logged(1, 0, "a"));
    newest.feed("k", logged(2, 1, null));
    assertNull(newest.value("newest", "k"));
  }

  @Test
  void withoutAKeyThereIsNoRowAndThatIsCounted() {
    Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
    assertEquals(
        List.of("no key", "no key"),
        texts(newest.feed((String) null, logged(1, 0, "a"), logged(2, 1, null))));
    assertNull(newest.value("newest", null));
  }

  @Test
  void nullCanBeAKeyLikeAnyOther() {
    Driven newest = Driven.of(new Newest(false, true, StepSize.RECORD));
    assertEquals(List.of("- > a@1 v1"), texts(newest.feed((String) null, logged(1, 0, "a"))));
    assertEquals(List.of("a@1 > -@2 v2"), texts(newest.feed((String) null, logged(2, 1, null))));
    assertNull(newest.value("newest", null));
  }

  /** Row, version, and how many were stale. */
  private record Known(String row, long version, int stale) {}

  private static Known model(List<Change> log) {
    Known known = new Known(null, NO_VERSION, 0);
    for (Change change : log) {
      String row = change.after() == null ? null : Driven.text(change.after());
      if (change.version() == NO_VERSION) known = new Known(row, known.version, known.stale);
      else if (change.version() >= known.version)
        known = new Known(row, change.version(), known.stale);
      else known = new Known(known.row, known.version, known.stale + 1);
    }
    return known;
  }

  private static List<Change> log(Random chance) {
    List<Change> log = new ArrayList<>();
    for (int offset = 0; offset < 25; offset++) {
      String row = chance.nextInt(4) == 0 ? null : Chance.one(chance, "a", "b", "c");
      long version = row == null || chance.nextInt(10) == 0 ? NO_VERSION : chance.nextInt(8) - 2;
      log.add(upsert(0, chance.nextInt(50), version, offset, row));
    }
    return log;
  }

  @Test
  void batchesAndBlocksMakeNoDifference() {
    Chance.times(
        300,
        chance -> {
          List<Change> log = log(chance);
          Driven newest = Driven.of(new Newest(true, false, StepSize.RECORD));
          Emitted emitted = new Emitted();
          int stale = 0;
          for (int from = 0; from < log.size(); ) {
            int to = Math.min(log.size(), from + 1 + chance.nextInt(8));
            List<Change> batch = new ArrayList<>(log.subList(from, to));
            Collections.shuffle(batch, chance);
            for (Change change : newest.feed(Driven.key("k"), batch, chance)) {
              if (change.side() == Operator.STALE) stale++;
              else emitted.take("k", change);
            }
            from = to;
            Known expected = model(log.subList(0, to));
            assertEquals(
                expected.row == null ? Map.of() : Map.of("k", expected.row), emitted.rows());
            assertEquals(expected.stale, stale);
          }
        });
  }
}
