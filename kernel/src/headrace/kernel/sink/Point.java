package headrace.kernel.sink;

/**
 * The moments between which a crash makes a difference. The system property headrace.crash names one and a batch, "COMMITTED 3": there
 * the process ends at once, as if killed. Only tests set it.
 */
public enum Point {
  PLANNED,
  FIRST_ROW,
  ROWS_SENT,
  MARK_SENT,
  FLUSHED,
  COMMITTED,
  MERGED;

  private static final String CRASH = System.getProperty("headrace.crash", "");

  public void reached(long batch) {
    if (!CRASH.isEmpty() && CRASH.equals(name() + " " + batch)) Runtime.getRuntime().halt(137);
  }
}
