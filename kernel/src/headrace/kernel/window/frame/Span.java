package headrace.kernel.window.frame;

import java.util.Comparator;

/** From start to before end, in microseconds. */
public record Span(long start, long end) implements Comparable<Span> {
  private static final Comparator<Span> ORDER =
      Comparator.comparingLong(Span::start).thenComparingLong(Span::end);

  public boolean contains(long time) {
    return start <= time && time < end;
  }

  @Override
  public int compareTo(Span other) {
    return ORDER.compare(this, other);
  }
}
