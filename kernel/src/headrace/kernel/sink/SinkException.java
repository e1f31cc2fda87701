package headrace.kernel.sink;

/**
 * A batch that can't be written now. A new run of the query retries it, after it has read what was
 * written.
 */
public final class SinkException extends RuntimeException {
  public SinkException(String message, Throwable cause) {
    super(message, cause);
  }

  public SinkException(String message) {
    super(message);
  }

  /** The message is complete; the cause is for a log. */
  public static SinkException of(String message, Throwable from) {
    SinkException exception = new SinkException(message);
    exception.addSuppressed(from);
    return exception;
  }
}
