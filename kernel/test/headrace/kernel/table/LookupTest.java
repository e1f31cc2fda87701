package headrace.kernel.table;

import static headrace.kernel.table.Driven.texts;
import static headrace.kernel.table.Driven.upsert;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;

class LookupTest {
  private static final long NO_VERSION = Block.NO_VERSION;

  private static Change event(long time, String row) {
    return upsert(0, time, 0, 0, row);
  }

  private static Change row(long time, long version, long sequence, String row) {
    return upsert(1, time, version, sequence, row);
  }

  private static Change logged(long time, long offset, String row) {
    return row(time, row == null ? NO_VERSION : offset, offset, row);
  }

  private static Driven inner() {
    return Driven.of(new Lookup(false, true, false));
  }

  @Test
  void anEventSeesTheRowAsItIs() {
    Driven lookup = inner();
    assertEquals(List.of(), lookup.feed("k", logged(9, 0, "a")));
    // Whatever its time: what is known when it comes, counts.
    assertEquals(
        List.of("e@0 > a@1 v0", "f@0 > a@99 v0"),
        texts(lookup.feed("k", event(1, "e"), event(99, "f"))));
    lookup.feed("k", logged(10, 7, "b"));
    assertEquals(List.of("e@0 > b@1 v7"), texts(lookup.feed("k", event(1, "e"))));
    assertEquals(List.of(), lookup.feed("other", event(1, "e")));
  }

  @Test
  void withinABatchAnEventSeesWhatCameBeforeItOrWithIt() {
    Driven lookup = inner();
    lookup.feed("k", logged(1, 0, "a"));
    var out =
        lookup.feed(
            "k",
            logged(5, 1, "b"),
            logged(8, 2, "c"),
            event(4, "e"),
            event(5, "f"),
            event(7, "g"),
            event(8, "h"));
    assertEquals(
        List.of("e@0 > a@4 v0", "f@0 > b@5 v1", "g@0 > b@7 v1", "h@0 > c@8 v2"), texts(out));
  }

  @Test
  void ofChangesAtTheSameTimeTheLogsLastIsSeen() {
    var out =
        inner().feed("k", logged(5, 2, "c"), logged(5, 0, "a"), logged(5, 1, "b"), event(5, "e"));
    assertEquals(List.of("e@0 > c@5 v2"), texts(out));
  }

  @Test
  void whatWasAppendedLaterArrivedLaterWhateverItsClockSays() {
    var out =
        inner()
            .feed(
                "k",
                logged(9, 0, "a"),
                logged(3, 1, "b"),
                event(3, "e"),
                event(8, "f"),
                event(9, "g"));
    assertEquals(List.of("g@0 > b@9 v1"), texts(out));
  }

  @Test
  void withoutARowAnEventIsLeftOutOrGoesOnAlone() {
    assertEquals(List.of(), inner().feed("k", event(1, "e")));
    Driven outer = Driven.of(new Lookup(true, true, false));
    assertEquals(List.of("e@0 > -@1"), texts(outer.feed("k", event(1, "e"))));
    var out =
        outer.feed(
            "k",
            logged(2, 0, "a"),
            logged(4, 1, null),
            event(1, "e"),
            event(2, "f"),
            event(4, "g"));
    assertEquals(List.of("e@0 > -@1", "f@0 > a@2 v0", "g@0 > -@4"), texts(out));
    assertEquals(List.of("h@0 > -@9"), texts(outer.feed("k", event(9, "h"))));
  }

  @Test
  void anOlderVersionIsNotSeenButCounted() {
    Driven lookup = Driven.of(new Lookup(true, true, true));
    var out =
        lookup.feed(
            "k",
            row(1, 5, 0, "a"),
            row(2, 4, 1, "b"),
            row(3, 6, 2, "c"),
            event(2, "e"),
            event(3, "f"));
    assertEquals(List.of("stale", "e@0 > a@2 v5", "f@0 > c@3 v6"), texts(out));
    assertEquals(List.of("stale"), texts(lookup.feed("k", row(4, 5, 3, "d"))));
    assertEquals(
        List.of("stale", "e@0 > c@5 v6"),
        texts(lookup.feed("k", row(4, 5, 3, "d"), event(5, "e"))));
    lookup.feed("k", row(6, NO_VERSION, 4, null));
    assertEquals(
        List.of("stale", "e@0 > -@7"), texts(lookup.feed("k", row(7, 5, 5, "d"), event(7, "e"))));
    assertNotNull(lookup.value("newest", "k"));
  }

  @Test
  void changesOfATableThatIsInOrderAreTakenAsTheyCome() {
    Driven lookup = Driven.of(new Lookup(false, false, false));
    var out = lookup.feed("k", row(1, 9, 0, "a"), row(2, 3, 1, "b"), event(2, "e"));
    assertEquals(List.of("e@0 > b@2 v3"), texts(out));
  }

  @Test
  void aDeletedRowLeavesNothing() {
    Driven lookup = inner();
    lookup.feed("k", logged(1, 0, "a"));
    lookup.feed("k", logged(2, 1, null));
    assertNull(lookup.value("newest", "k"));
    assertEquals(List.of(), lookup.feed("k", logged(1, 2, null), event(1, "e")));
    assertNull(lookup.value("newest", "k"));
  }

  @Test
  void nullIsTheKeyOfNoRow() {
    for (boolean outer : new boolean[] {false, true}) {
      Driven lookup = Driven.of(new Lookup(outer, true, true));
      var out = lookup.feed((String) null, logged(1, 0, "a"), event(2, "e"));
      assertEquals(outer ? List.of("no key", "e@0 > -@2") : List.of("no key"), texts(out));
      assertEquals(
          outer ? List.of("e@0 > -@2") : List.of(),
          texts(lookup.feed((String) null, event(2, "e"))));
      assertNull(lookup.value("newest", null));
    }
    // Where null is the key of a group, a change of it is nothing to be counted.
    Driven group = Driven.of(new Lookup(false, false, false));
    assertEquals(List.of(), group.feed((String) null, logged(1, 0, "a"), event(2, "e")));
  }

  @Test
  void batchesAndBlocksMakeNoDifferenceBeyondTheTimesInABatch() {
    Chance.times(
        300,
        chance -> {
          boolean outer = chance.nextBoolean();
          Driven lookup = Driven.of(new Lookup(outer, true, true));
          String known = null;
          long version = NO_VERSION;
          long offset = 0;
          for (int batch = 0; batch < 6; batch++) {
            List<Change> rows = new ArrayList<>();
            for (int left = chance.nextInt(5); left > 0; left--) {
              String row = chance.nextInt(4) == 0 ? null : Chance.one(chance, "a", "b", "c");
              rows.add(
                  row(
                      chance.nextInt(10),
                      row == null ? NO_VERSION : chance.nextInt(8),
                      offset++,
                      row));
            }
            List<Change> events = new ArrayList<>();
            for (int left = chance.nextInt(8); left > 0; left--)
              events.add(event(chance.nextInt(12) - 1, "e" + left));

            List<String> expected = new ArrayList<>();
            for (Change event : events) {
              String seen = known;
              long seenVersion = version;
              long from = Long.MIN_VALUE;
              for (Change row : rows) {
                if (row.version() != NO_VERSION && row.version() < seenVersion) continue;
                from = Math.max(from, row.time());
                if (from > event.time()) break;
                seen = row.after() == null ? null : Driven.text(row.after());
                if (row.version() != NO_VERSION) seenVersion = row.version();
              }
              String text =
                  Driven.text(event.after())
                      + "@0 > "
                      + (seen == null ? "-" : seen)
                      + "@"
                      + event.time();
              if (seen != null || outer)
                expected.add(text + (seen == null ? "" : " v" + seenVersion));
            }
            for (Change row : rows) {
              if (row.version() != NO_VERSION && row.version() < version) {
                expected.add("stale");
                continue;
              }
              known = row.after() == null ? null : Driven.text(row.after());
              if (row.version() != NO_VERSION) version = row.version();
            }

            List<Change> all = new ArrayList<>(rows);
            all.addAll(events);
            if (all.isEmpty()) continue;
            List<String> found = new ArrayList<>(texts(lookup.feed(Driven.key("k"), all, chance)));
            found.sort(Comparator.naturalOrder());
            expected.sort(Comparator.naturalOrder());
            assertEquals(expected, found);
          }
        });
  }
}
