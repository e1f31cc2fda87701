package headrace.kernel.window.frame;

import java.util.ArrayList;
import java.util.List;

/**
 * Windows that begin with a period and end at each of its steps; the last ends with the period, so
 * its step may be shorter.
 */
public record Cumulating(Grid periods, long step) implements Grid {
  public Cumulating {
    if (step <= 0) throw new IllegalArgumentException("steps of " + step);
  }

  @Override
  public List<Span> windowsOf(long time) {
    List<Span> windows = new ArrayList<>();
    for (Span period : periods.windowsOf(time)) {
      long end = stepAfter(period, time);
      while (end < period.end()) {
        windows.add(new Span(period.start(), end));
        end += step;
      }
      windows.add(period);
    }
    return windows;
  }

  @Override
  public long nextEnd(long time) {
    long end = periods.nextEnd(time);
    for (Span period : periods.windowsOf(time)) end = Math.min(end, stepAfter(period, time));
    return end;
  }

  private long stepAfter(Span period, long time) {
    return period.start() + (Math.floorDiv(time - period.start(), step) + 1) * step;
  }
}
