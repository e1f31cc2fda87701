package headrace.kernel.window;

import headrace.kernel.window.frame.Cumulating;
import headrace.kernel.window.frame.Span;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Emits cumulating windows, each once, at its end: what has come so far in its period.
 *
 * <p>Only the period is kept. An event waits until the step it is in is over, so that a step has what came before its end and no more.
 */
record EmitAtSteps(Cumulating frames) implements EmitPolicy {
  @Override
  public long run(KeyState known, List<Event> events, long watermark, Emitter out) {
    known.waiting().addAll(events);
    while (true) {
      long end = next(known);
      if (end > watermark) return end;
      pass(known, end, out);
    }
  }

  /** When the next step ends that has something to tell. */
  private long next(KeyState known) {
    Event first = known.waiting().peek();
    if (!known.open().isEmpty()) return frames.nextEnd(known.passed());
    if (first == null) return NEVER;
    return frames.nextEnd(Math.max(Math.max(first.time(), first.closed()), known.passed()));
  }

  private void pass(KeyState known, long end, Emitter out) {
    OpenWindows open = known.open();
    PriorityQueue<Event> waiting = known.waiting();
    while (!waiting.isEmpty() && waiting.peek().time() < end) open.add(waiting.poll());
    for (Window period : open.all()) out.emit(period, new Span(period.span().start(), Math.min(end, period.span().end())));
    open.takeEnded(end);
    known.passed(end);
  }
}
