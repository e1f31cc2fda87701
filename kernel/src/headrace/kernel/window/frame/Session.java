package headrace.kernel.window.frame;

import java.util.List;

/** Windows that begin with an event and end one gap after the last event. */
public record Session(long gap) implements Frames {
  public Session {
    if (gap <= 0) throw new IllegalArgumentException("sessions with a gap of " + gap);
  }

  /** The window of an event alone; overlapping windows are merged. */
  @Override
  public List<Span> windowsOf(long time) {
    return List.of(new Span(time, time + gap));
  }
}
