package headrace.kernel.sink;

import java.util.concurrent.atomic.AtomicReference;

/**
 * The steps of a commit between which a crash makes a difference. The system property
 * headrace.crash names one and a batch, "COMMITTED:3": there the process halts, as if killed.
 * headrace.lose names one where the answer to a request is lost instead, once. Only tests set them.
 */
public enum Point {
  PLANNED,
  FIRST_ROW,
  ROWS_SENT,
  MARK_SENT,
  FLUSHED,
  ANSWERED,
  COMMITTED;

  private static final String CRASH = System.getProperty("headrace.crash", "");
  private static final AtomicReference<String> LOSE =
      new AtomicReference<>(System.getProperty("headrace.lose"));

  public void reached(long batch) {
    String here = name() + ":" + batch;
    if (CRASH.equals(here)) Runtime.getRuntime().halt(137);
    String lose = LOSE.get();
    if (here.equals(lose) && LOSE.compareAndSet(lose, null))
      throw new SinkException("no answer came");
  }
}
