package headrace.kernel.slide;

/**
 * Which windows a batch changes: those with one of its events, and those that end where only its
 * events leave. Called in order of time.
 */
final class Changed {
  private final Arrivals arrivals;
  private final long size;
  private int entered;
  private int left;

  Changed(Arrivals arrivals, long size) {
    this.arrivals = arrivals;
    this.size = size;
  }

  /** Whether the batch changes the window that ends here, where so many events enter and leave. */
  boolean at(long end, int enter, int leave) {
    int before = left;
    entered = arrivals.notBefore(end + 1, entered);
    left = arrivals.notBefore(end - size + 1, left);
    return entered > left || (enter == 0 && leave == left - before);
  }

  /** The end of the last window that can be changed. */
  long last() {
    return arrivals.size() == 0 ? Long.MIN_VALUE : arrivals.newest() + size;
  }
}
