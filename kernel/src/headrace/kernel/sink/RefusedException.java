package headrace.kernel.sink;

/**
 * A failure that a retry would not change: a table that does not fit, a value a database can't
 * hold, a run that was replaced.
 */
public final class RefusedException extends RuntimeException {
  public RefusedException(String message) {
    super(message);
  }

  /** The message is complete; the cause is for a log. */
  public static RefusedException of(String message, Throwable from) {
    RefusedException exception = new RefusedException(message);
    exception.addSuppressed(from);
    return exception;
  }
}
