package headrace.kernel.slide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.slide.Slides.Window;
import headrace.kernel.table.Recomputed;
import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.window.EmitMode;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * All events of a key, and what is to be emitted of its windows: each computed again from all of
 * them.
 */
final class Model {
  private final Calls calls;
  private final long size;
  private final EmitMode emit;
  private final List<Entry> known = new ArrayList<>();
  private long frontier = Long.MIN_VALUE;
  private long newest = Long.MIN_VALUE;

  Model(Calls calls, long size, EmitMode emit) {
    this.calls = calls;
    this.size = size;
    this.emit = emit;
  }

  private TreeSet<Long> ends() {
    TreeSet<Long> ends = new TreeSet<>();
    for (Entry event : known) {
      ends.add(event.time());
      ends.add(event.time() + size);
    }
    return ends;
  }

  void batch(long millis, List<Entry> events, List<Window> emitted) {
    TreeSet<Long> before = ends();
    long was = frontier;
    long toldTo = newest;
    frontier = Math.max(frontier, millis * 1000);
    known.addAll(events);
    for (Entry event : events) newest = Math.max(newest, event.time());
    List<Long> expected = new ArrayList<>();
    List<Window> left = new ArrayList<>(emitted);
    for (long end : ends().tailSet(was, false)) {
      boolean last = end <= frontier;
      boolean joined =
          events.stream().anyMatch(event -> event.time() <= end && end < event.time() + size);
      boolean changed = end > toldTo || !before.contains(end) || joined;
      boolean now =
          emit == EmitMode.FINAL
              ? last
              : emit == EmitMode.ALL && last || changed && (last || end <= newest);
      if (!now) continue;
      expected.add(last ? end : -end);
      if (left.isEmpty()) continue;
      Window window = left.remove(0);
      if (window.end() != end) continue;
      assertEquals(end - size, window.start());
      List<Entry> inside =
          known.stream().filter(event -> event.time() > end - size && event.time() <= end).toList();
      Recomputed.assertResults(calls, inside, window.results());
    }
    assertEquals(
        expected,
        emitted.stream().map(window -> window.last() ? window.end() : -window.end()).toList(),
        "ends, - for not final");
  }
}
