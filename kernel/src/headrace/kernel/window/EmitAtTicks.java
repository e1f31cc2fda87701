package headrace.kernel.window;

import headrace.kernel.window.frame.Frames;
import headrace.kernel.window.frame.Grid;
import headrace.kernel.window.frame.Session;
import headrace.kernel.window.frame.Span;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Emits the open windows as of each tick that the watermark passes, and each window at its end.
 *
 * <pre>
 * all events wait
 * for each tick and each end of a window up to the watermark, in order:
 *   add the waiting events before it to their windows
 *   open the windows without events that hold this tick or end here (no sessions)
 *   delete the sessions that were merged into others
 *   emit the windows that end here, as final, and remove them
 *   if it is a tick: emit the windows that are open
 *   if a window without events has ended and none with events is open:
 *     delete what was emitted of open windows; forget the key
 * </pre>
 *
 * <p>An event waits until the watermark has passed a tick or an end after it, so results do not
 * depend on events that arrived early. From the time of a key's first event, windows without events
 * are emitted too, until such a window ends and no other has events. Sessions always have events.
 */
record EmitAtTicks(Frames frames, long tick) implements EmitPolicy {
  EmitAtTicks {
    if (tick <= 0) throw new IllegalArgumentException("ticks of " + tick);
  }

  @Override
  public long run(KeyState known, List<Event> events, long watermark, Emitter out) {
    known.waiting().addAll(events);
    while (true) {
      long moment = next(known);
      if (moment > watermark) return moment;
      pass(known, moment, out);
    }
  }

  private long next(KeyState known) {
    Event first = known.waiting().peek();
    if (frames instanceof Grid grid) {
      if (known.passed() == KeyState.NONE && first == null) return NEVER;
      long from = known.passed() == KeyState.NONE ? first.time() : known.passed();
      return Math.min(nextTick(from), grid.nextEnd(from));
    }
    OpenWindows open = known.open();
    if (open.isEmpty() && first == null) return NEVER;
    long from = open.isEmpty() ? Math.max(first.time(), known.passed()) : known.passed();
    long next = nextTick(from);
    // A session does not end where an event at its very end continues it.
    if (!open.isEmpty() && open.nextEnd() > known.passed()) next = Math.min(next, open.nextEnd());
    // The end of the next event's session, if no other event joins it.
    if (first != null) next = Math.min(next, frames.windowsOf(first.time()).get(0).end());
    return next;
  }

  private long nextTick(long time) {
    return (Math.floorDiv(time, tick) + 1) * tick;
  }

  private void pass(KeyState known, long moment, Emitter out) {
    OpenWindows open = known.open();
    PriorityQueue<Event> waiting = known.waiting();
    while (!waiting.isEmpty() && waiting.peek().time() < moment) open.add(waiting.poll());
    boolean onTick = Math.floorMod(moment, tick) == 0;
    if (frames instanceof Grid) {
      for (Span span : frames.windowsOf(moment - 1)) {
        if (onTick || span.end() == moment) open.at(span);
      }
    }
    for (Window window : open.takeGone()) out.delete(window, moment);
    boolean idle = false;
    boolean goesOn =
        frames instanceof Session && !waiting.isEmpty() && waiting.peek().time() == moment;
    for (Window window : goesOn ? List.<Window>of() : open.takeEnded(moment)) {
      out.emit(window, window.span().end(), true);
      idle |= !window.hasEvents();
    }
    if (onTick) {
      for (Window window : open.all()) out.emit(window, moment, false);
    }
    known.passed(Math.max(moment, known.passed()));
    // Waiting events are later than this moment: early arrivals don't change what is emitted of it.
    if (idle && !open.hasEvents()) forget(known, moment, out);
  }

  /** Retracts what was emitted of open windows without events. */
  private static void forget(KeyState known, long moment, Emitter out) {
    for (Window window : known.open().all()) out.delete(window, moment);
    known.forget();
  }
}
