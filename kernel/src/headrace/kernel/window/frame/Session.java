package headrace.kernel.window.frame;

import java.util.List;

/** WindowAggregate that begin with an event and end the gap after the last one. */
public record Session(long gap) implements Frames {
  public Session {
    if (gap <= 0) throw new IllegalArgumentException("sessions with a gap of " + gap);
  }

  /** The window of an event that is alone; those of others that overlap it are joined with it. */
  @Override
  public List<Span> windowsOf(long time) {
    return List.of(new Span(time, time + gap));
  }
}
