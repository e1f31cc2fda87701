package headrace.kernel.window;

import java.util.List;

/** Windows that begin with an event and end the gap after the last one. */
record Session(long gap) implements Frames {
  Session {
    if (gap <= 0) throw new IllegalArgumentException("sessions with a gap of " + gap);
  }

  /** The window of an event that is alone; those of others that overlap it are joined with it. */
  @Override
  public List<Span> windowsOf(long time) {
    return List.of(new Span(time, time + gap));
  }
}
