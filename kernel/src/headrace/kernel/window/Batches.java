package headrace.kernel.window;

import java.util.List;

/** Tells the windows that a batch brought events of, or those that end, or both. The time of a row is its window's last microsecond. */
record Batches(boolean updates, boolean ends) implements Telling {
  @Override
  public long run(Known known, List<Event> events, long watermark, Teller out) {
    Open open = known.open();
    for (Event event : events) open.add(event);
    for (Window window : open.takeGone()) out.delete(window, window.toldAt());
    for (Window window : open.all()) {
      if (updates && window.isTouched()) out.tell(window, window.span().end() - 1, false);
    }
    for (Window window : open.takeEnded(watermark)) {
      if (ends) out.tell(window, window.span().end() - 1, true);
    }
    return open.isEmpty() ? NEVER : open.nextEnd();
  }
}
