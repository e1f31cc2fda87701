package headrace.kernel.table;

import static headrace.kernel.table.Driven.texts;
import static headrace.kernel.table.Driven.upsert;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Times of rows are microseconds, watermarks are milliseconds. */
class AsOfTest {
  private static final long NO_VERSION = Block.NO_VERSION;
  private static final long MS = 1000;

  private static Change event(long time, String row) {
    return upsert(0, time, 0, 0, row);
  }

  private static Change row(long time, long offset, String row) {
    return upsert(1, time, row == null ? NO_VERSION : offset, offset, row);
  }

  private static Driven inner(long history) {
    return Driven.inEventTime(new AsOf(false, history, true, false));
  }

  @Test
  void anEventWaitsForTheWatermarkAndSeesWhatCameInBetween() {
    Driven asOf = inner(MS);
    assertEquals(List.of(), asOf.feed("k", event(5 * MS, "e")));
    assertEquals(List.of(), asOf.feed("k", row(9 * MS, 0, "late")));
    assertEquals(List.of(), asOf.feed("k", row(4 * MS, 1, "a")));
    assertEquals(List.of(), asOf.feed("k", row(3 * MS, 2, "older")));
    assertEquals(List.of(), asOf.watermark(5));
    assertEquals(List.of("e@0 > a@5000 v1"), texts(asOf.watermark(6)));
    assertEquals(List.of(), asOf.watermark(100));
    assertEquals(List.of(), asOf.list("waiting", "k"));
  }

  @Test
  void theWatermarkHasToPassTheMicrosecondToo() {
    Driven asOf = inner(MS);
    asOf.feed("k", row(1, 0, "a"), event(5_999, "e"), event(6_000, "f"), event(6_001, "g"));
    assertEquals(List.of(), asOf.watermark(5));
    assertEquals(List.of("e@0 > a@5999 v0"), texts(asOf.watermark(6)));
    assertEquals(List.of("f@0 > a@6000 v0", "g@0 > a@6001 v0"), texts(asOf.watermark(7)));
  }

  @Test
  void anEventThatTheWatermarkHasPassedDoesNotWait() {
    Driven asOf = inner(100 * MS);
    asOf.feed("k", row(5 * MS, 0, "a"), row(50 * MS, 1, "b"));
    asOf.watermark(60);
    var out = asOf.feed("k", event(50 * MS - 1, "e"), event(50 * MS, "f"));
    assertEquals(List.of("e@0 > a@49999 v0", "f@0 > b@50000 v1"), texts(out));
    assertEquals(List.of(), asOf.list("waiting", "k"));
  }

  @Test
  void withoutARowAnEventIsLeftOutOrGoesOnAlone() {
    for (boolean outer : new boolean[] {false, true}) {
      Driven asOf = Driven.inEventTime(new AsOf(outer, MS, true, false));
      asOf.feed(
          "k",
          row(5 * MS, 0, "a"),
          row(8 * MS, 1, null),
          event(4 * MS, "e"),
          event(6 * MS, "f"),
          event(8 * MS, "g"));
      var expected =
          outer
              ? List.of("e@0 > -@4000", "f@0 > a@6000 v0", "g@0 > -@8000")
              : List.of("f@0 > a@6000 v0");
      assertEquals(expected, texts(asOf.watermark(20)));
    }
  }

  @Test
  void eventsOfOneKeyAreReleasedAsTheirTimesCome() {
    Driven asOf = inner(MS);
    asOf.feed("k", row(1, 0, "a"), event(30 * MS, "g"), event(10 * MS, "e"));
    asOf.feed("k", event(20 * MS, "f"));
    asOf.feed("l", row(1, 0, "b"), event(10 * MS, "h"));
    assertEquals(List.of("e@0 > a@10000 v0", "h@0 > b@10000 v0"), sorted(asOf.watermark(15)));
    assertEquals(List.of("f@0 > a@20000 v0"), texts(asOf.watermark(25)));
    assertEquals(List.of("g@0 > a@30000 v0"), texts(asOf.watermark(31)));
    assertEquals(List.of(), asOf.list("waiting", "k"));
  }

  @Test
  void versionsThatWereReplacedLongAgoAreForgotten() {
    Driven asOf = inner(10 * MS);
    for (int i = 1; i <= 100; i++) {
      if (i > 1) asOf.watermark(i - 1);
      asOf.feed("k", row(i * MS, i, "row"));
    }
    byte[] kept = asOf.value("versions", "k");
    // Those from 89, when the one valid at 89 began, to 100.
    assertEquals(1 + 12 * (28 + 3), kept.length);
    var out = asOf.feed("k", event(88 * MS, "e"), event(89 * MS, "f"), event(98 * MS, "g"));
    assertEquals(List.of("f@0 > row@89000 v89", "g@0 > row@98000 v98"), texts(out));
  }

  @Test
  void theLastVersionIsValidForEver() {
    Driven asOf = inner(10 * MS);
    asOf.feed("k", row(MS, 0, "a"));
    asOf.watermark(1_000_000);
    asOf.feed("k", event(2_000_000 * MS, "e"));
    assertEquals(List.of("e@0 > a@2000000000 v0"), texts(asOf.watermark(3_000_000)));
  }

  @Test
  void aKeyThatWasDeletedLongAgoLeavesNothing() {
    Driven asOf = inner(10 * MS);
    asOf.feed("k", row(MS, 0, "a"));
    asOf.feed("k", row(2 * MS, 1, null));
    asOf.watermark(100);
    asOf.feed("k", row(3 * MS, 2, null));
    assertNull(asOf.value("versions", "k"));
  }

  @Test
  void nullIsTheKeyOfNoRow() {
    for (boolean outer : new boolean[] {false, true}) {
      // Where null is the key of a group, a change of it is nothing to be counted.
      Driven group = Driven.inEventTime(new AsOf(outer, MS, false, false));
      assertEquals(List.of(), texts(group.feed((String) null, row(1, 0, "a"), event(5 * MS, "e"))));
      assertEquals(outer ? List.of("e@0 > -@5000") : List.of(), texts(group.watermark(6)));
      Driven asOf = Driven.inEventTime(new AsOf(outer, MS, true, false));
      assertEquals(
          List.of("no key"), texts(asOf.feed((String) null, row(1, 0, "a"), event(5 * MS, "e"))));
      assertEquals(outer ? List.of("e@0 > -@5000") : List.of(), texts(asOf.watermark(6)));
      assertNull(asOf.value("versions", null));
      assertEquals(List.of(), asOf.list("waiting", null));
    }
  }

  private static List<String> sorted(List<Change> changes) {
    return texts(changes).stream().sorted().toList();
  }

  /** What happens to a key, in the order of time; {@code batch}: when it comes. */
  private record Item(String key, Change change, int batch) {}

  @Test
  void theOrderInWhichTheyComeMakesNoDifference() {
    Chance.times(100, chance -> random(chance, false));
  }

  @Test
  void norIfTheRowsOfABatchComeBeforeItsTimers() {
    Chance.times(100, chance -> random(chance, true));
  }

  private static void random(Random chance, boolean rowsFirst) {
    boolean outer = chance.nextBoolean();
    int batches = 8;
    int step = 10;
    List<Item> items = new ArrayList<>();
    List<String> expected = new ArrayList<>();
    for (String key : List.of("k", "l")) {
      TreeMap<Long, Change> newest = new TreeMap<>();
      for (int i = 0; i < 15; i++) {
        // As of batch b the watermark is b * step; what has come until then may not be older than
        // it.
        long time = chance.nextInt(batches * step) * MS + chance.nextInt(2);
        int latest = (int) (time / MS) / step;
        Change row = row(time, i, chance.nextInt(4) == 0 ? null : key + i);
        newest.merge(time, row, (one, other) -> one.sequence() > other.sequence() ? one : other);
        items.add(new Item(key, row, chance.nextInt(latest + 1)));
      }
      for (int i = 0; i < 15; i++) {
        long time = chance.nextInt(batches * step) * MS + chance.nextInt(2);
        items.add(
            new Item(key, event(time, "e" + i), chance.nextInt((int) (time / MS) / step + 1)));
        var last = newest.floorEntry(time);
        Change seen = last == null ? null : last.getValue();
        boolean present = seen != null && seen.after() != null;
        String text = "e" + i + "@0 > " + (present ? Driven.text(seen.after()) : "-") + "@" + time;
        if (present || outer) expected.add(text + (present ? " v" + seen.version() : ""));
      }
    }

    Driven asOf = Driven.inEventTime(new AsOf(outer, chance.nextInt(30) * MS, true, false));
    List<Change> found = new ArrayList<>();
    for (int batch = 0; batch < batches; batch++) {
      int now = batch;
      asOf.batch(batch * step);
      if (batch > 0 && !rowsFirst) found.addAll(asOf.watermark(batch * step));
      for (String key : List.of("k", "l")) {
        List<Change> changes =
            items.stream()
                .filter(item -> item.batch == now && item.key.equals(key))
                .map(Item::change)
                .toList();
        if (!changes.isEmpty()) found.addAll(asOf.feed(Driven.key(key), changes, chance));
      }
      if (batch > 0 && rowsFirst) found.addAll(asOf.watermark(batch * step));
    }
    found.addAll(asOf.watermark(batches * step + 1));
    assertEquals(expected.stream().sorted().toList(), sorted(found));
    assertEquals(List.of(), asOf.list("waiting", "k"));
  }
}
