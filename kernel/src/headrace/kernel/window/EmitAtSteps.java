package headrace.kernel.window;

import headrace.kernel.window.frame.Cumulating;
import headrace.kernel.window.frame.Span;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Emits cumulating windows, each once, at its end: the events of its period so far.
 *
 * <pre>
 * all events wait
 * for each end of a step up to the watermark, in order:
 *   add the waiting events before it to their periods
 *   emit each open period, cut off at this end
 *   remove the periods that end here
 * </pre>
 *
 * <p>The state holds one buffer per period. An event waits until its step is over, so that a step
 * holds the events before its end and no others.
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

  /** The end of the next step that has a result. */
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
    for (Window period : open.all())
      out.emit(period, new Span(period.span().start(), Math.min(end, period.span().end())));
    open.takeEnded(end);
    known.passed(end);
  }
}
