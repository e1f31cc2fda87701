package headrace.kernel.window.frame;

import java.util.ArrayList;
import java.util.List;

/**
 * Windows of one size. One starts at offset, the others at multiples of {@code every} before and
 * after.
 */
record Fixed(long size, long every, long offset) implements Grid {
  Fixed {
    if (size <= 0 || every <= 0)
      throw new IllegalArgumentException("windows of " + size + " every " + every);
  }

  @Override
  public boolean gaps() {
    return every > size;
  }

  @Override
  public List<Span> windowsOf(long time) {
    List<Span> windows = new ArrayList<>();
    // From the first that has not ended to the last that has started.
    for (long start = nextEnd(time) - size; start <= time; start += every)
      windows.add(new Span(start, start + size));
    return windows;
  }

  @Override
  public long nextEnd(long time) {
    long end = offset + size;
    return end + (Math.floorDiv(time - end, every) + 1) * every;
  }
}
