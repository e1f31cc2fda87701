package headrace.kernel.sink;

/** What another try would not change: a table that does not fit, a value a database can't hold, a run that was replaced. */
public final class RefusedException extends RuntimeException {
  public RefusedException(String message, Throwable cause) {
    super(message, cause);
  }

  public RefusedException(String message) {
    super(message);
  }
}
