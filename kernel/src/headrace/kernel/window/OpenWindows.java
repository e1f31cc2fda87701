package headrace.kernel.window;

import headrace.kernel.window.frame.Frames;
import headrace.kernel.window.frame.Session;
import headrace.kernel.window.frame.Span;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The open windows of a key. In every kind of frame those that start earlier also end earlier, or
 * with the others.
 */
final class OpenWindows {
  private final Frames frames;
  private final Results results;
  private final TreeMap<Span, Window> windows = new TreeMap<>();
  private final List<Window> gone = new ArrayList<>();

  OpenWindows(Frames frames, Results results) {
    this.frames = frames;
    this.results = results;
  }

  /** Adds an event to its windows, except those that were closed when it arrived. */
  void add(Event event) {
    for (Span span : frames.windowsOf(event.time())) {
      if (span.end() <= event.closed()) continue;
      if (frames instanceof Session) join(event, span);
      else at(span).add(event);
    }
  }

  /**
   * Merges an event with the sessions it is in or close to: at most one before it and one after it.
   */
  private void join(Event event, Span alone) {
    Span latest = new Span(event.time(), Long.MAX_VALUE);
    Map.Entry<Span, Window> before = windows.floorEntry(latest);
    Map.Entry<Span, Window> after = windows.higherEntry(latest);
    boolean joinsBefore = before != null && event.time() <= before.getKey().end();
    Window session = joinsBefore ? windows.remove(before.getKey()) : Window.empty(results, alone);
    session.add(event);
    session.stretch(alone.end());
    if (after != null && after.getKey().start() <= alone.end()) {
      Window other = windows.remove(after.getKey());
      session.add(other);
      session.stretch(other.span().end());
      if (other.wasEmitted()) gone.add(other);
    }
    windows.put(session.span(), session);
  }

  /** The window, opened if it is not open yet. */
  Window at(Span span) {
    return windows.computeIfAbsent(span, none -> Window.empty(results, span));
  }

  boolean isEmpty() {
    return windows.isEmpty();
  }

  boolean hasEvents() {
    return windows.values().stream().anyMatch(Window::hasEvents);
  }

  List<Window> all() {
    return List.copyOf(windows.values());
  }

  /** When the next window ends; at least one must be open. */
  long nextEnd() {
    return windows.firstKey().end();
  }

  /** Removes and returns the windows that end at this time or before. */
  List<Window> takeEnded(long time) {
    List<Window> ended = new ArrayList<>();
    while (!windows.isEmpty() && nextEnd() <= time) ended.add(windows.pollFirstEntry().getValue());
    return ended;
  }

  /** Removes and returns the sessions that were emitted and are now part of others. */
  List<Window> takeGone() {
    List<Window> taken = List.copyOf(gone);
    gone.clear();
    return taken;
  }

  void clear() {
    windows.clear();
  }

  void write(DataOutputStream out) throws IOException {
    out.writeInt(windows.size());
    for (Window window : windows.values()) window.write(out);
  }

  void read(DataInputStream in) throws IOException {
    for (int left = in.readInt(); left > 0; left--) {
      Window window = Window.read(results, in);
      windows.put(window.span(), window);
    }
  }
}
