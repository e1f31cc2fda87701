package headrace.kernel.window;

import headrace.kernel.window.frame.Frames;
import headrace.kernel.window.frame.Session;
import headrace.kernel.window.frame.Span;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What must be emitted of a key, computed again from all its events, batch by batch and millisecond
 * by millisecond.
 */
final class Model {
  private static final long MS = 1000;

  private final String key;
  private final Frames frames;
  private final EmitMode emit;
  private final long tick;

  /** Those that came and are in no session that has ended. */
  private final List<Event> events = new ArrayList<>();

  /** The windows of ticks that were emitted and have not ended. */
  private final TreeMap<Span, List<Object>> toldOpen = new TreeMap<>();

  private final TreeMap<Long, String> toldSessions = new TreeMap<>();
  private long now = Long.MIN_VALUE;
  private long forgotten = Long.MIN_VALUE;

  Model(String key, Frames frames, EmitMode emit, long tick) {
    this.key = key;
    this.frames = frames;
    this.emit = emit;
    this.tick = tick;
  }

  /** The results of an event's number: count, sum, and all of them in order. */
  static List<Object> results(List<Event> events) {
    List<Long> numbers = events.stream().sorted(Event.ORDER).map(Event::sequence).toList();
    Long sum = numbers.isEmpty() ? null : numbers.stream().mapToLong(Long::longValue).sum();
    return Arrays.asList((long) numbers.size(), sum, numbers);
  }

  List<String> batch(List<Event> more, long watermark) {
    for (Event event : more) if (!frames.windowsOf(event.time()).isEmpty()) events.add(event);
    List<String> emitted = new ArrayList<>();
    if (emit != EmitMode.EVERY) {
      if (emit != EmitMode.FINAL) updates(more, emitted);
      ends(watermark, emitted);
    } else {
      long first = events.stream().mapToLong(Event::time).min().orElse(Long.MAX_VALUE);
      for (long at = Math.max(now, Math.floorDiv(first, MS) * MS); at <= watermark; at += MS)
        if (at > now) moment(at, emitted);
      now = watermark;
    }
    return emitted;
  }

  private boolean sessions() {
    return frames instanceof Session;
  }

  /** All windows that these events are in. */
  private TreeSet<Span> windows(List<Event> some) {
    TreeSet<Span> windows = new TreeSet<>();
    if (!(frames instanceof Session session)) {
      for (Event event : some) windows.addAll(frames.windowsOf(event.time()));
      return windows;
    }
    Span open = null;
    for (Event event : some.stream().sorted(Event.ORDER).toList()) {
      if (open != null && event.time() <= open.end())
        open = new Span(open.start(), event.time() + session.gap());
      else {
        if (open != null) windows.add(open);
        open = new Span(event.time(), event.time() + session.gap());
      }
    }
    if (open != null) windows.add(open);
    return windows;
  }

  private List<Event> in(Span span, long before) {
    return events.stream()
        .filter(event -> span.contains(event.time()) && event.time() < before)
        .toList();
  }

  private String line(Span span, boolean last, long time, long before) {
    return Outcome.line(key, span, results(in(span, before)), last, false, time);
  }

  private void updates(List<Event> more, List<String> emitted) {
    TreeSet<Span> all = windows(events);
    if (sessions()) {
      for (long start : List.copyOf(toldSessions.keySet())) {
        if (all.stream().noneMatch(span -> span.start() == start))
          emitted.add(toldSessions.remove(start).replace(") ", ") gone "));
      }
    }
    for (Span span : all) {
      if (more.stream().noneMatch(event -> span.contains(event.time()))) continue;
      String line = line(span, false, span.end() - 1, Long.MAX_VALUE);
      emitted.add(line);
      if (sessions()) toldSessions.put(span.start(), line);
    }
  }

  private void ends(long watermark, List<String> emitted) {
    for (Span span : windows(events)) {
      if (span.end() > watermark) continue;
      if (emit != EmitMode.UPDATES && span.end() > now)
        emitted.add(line(span, true, span.end() - 1, Long.MAX_VALUE));
      if (sessions()) {
        toldSessions.remove(span.start());
        events.removeIf(event -> span.contains(event.time()));
      }
    }
    now = watermark;
  }

  private void moment(long at, List<String> emitted) {
    boolean onTick = at % tick == 0;
    if (sessions()) {
      for (Span span : windows(events.stream().filter(event -> event.time() < at).toList())) {
        boolean ends = span.end() == at && events.stream().noneMatch(event -> event.time() == at);
        if (ends || (onTick && span.end() >= at)) emitted.add(line(span, ends, at, at));
      }
      return;
    }
    if (events.stream().noneMatch(event -> event.time() >= forgotten && event.time() < at)) return;
    boolean idle = false;
    for (Span span : frames.windowsOf(at - 1)) {
      if (!onTick && span.end() != at) continue;
      boolean last = span.end() == at;
      emitted.add(line(span, last, at, at));
      idle |= last && in(span, at).isEmpty();
      if (last) toldOpen.remove(span);
      else toldOpen.put(span, results(in(span, at)));
    }
    List<Event> passed = events.stream().filter(event -> event.time() < at).toList();
    if (!idle || windows(passed).stream().anyMatch(span -> span.end() > at)) return;
    forgotten = at;
    toldOpen.forEach(
        (span, results) -> emitted.add(Outcome.line(key, span, results, false, true, at)));
    toldOpen.clear();
  }
}
