package headrace.kernel.window;

import java.util.List;

/** Emits the windows that a batch brought events of, or those that end, or both. The time of a row is its window's last microsecond. */
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
