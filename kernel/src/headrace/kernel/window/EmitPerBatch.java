package headrace.kernel.window;

import java.util.List;

/**
 * Emits the windows that a batch changed ({@code updates}), those that end ({@code ends}), or both.
 *
 * <pre>
 * add all events to their windows
 * delete the emitted sessions that were merged into others
 * if updates: emit each open window that has a new event
 * for each window whose end the watermark has passed: remove it; if ends: emit it as final
 * </pre>
 *
 * <p>The time of a result is its window's last microsecond.
 */
record EmitPerBatch(boolean updates, boolean ends) implements EmitPolicy {
  @Override
  public long run(KeyState known, List<Event> events, long watermark, Emitter out) {
    OpenWindows open = known.open();
    for (Event event : events) open.add(event);
    for (Window window : open.takeGone()) out.delete(window, window.emittedAt());
    for (Window window : open.all()) {
      if (updates && window.isTouched()) out.emit(window, window.span().end() - 1, false);
    }
    for (Window window : open.takeEnded(watermark)) {
      if (ends) out.emit(window, window.span().end() - 1, true);
    }
    return open.isEmpty() ? NEVER : open.nextEnd();
  }
}
