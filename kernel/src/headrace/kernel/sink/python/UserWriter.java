package headrace.kernel.sink.python;

/**
 * A writer of the user's, in the Python process (spark/writers.py). Each call answers with null, or
 * with why it failed: "lasting" or "transient", a space, and the cause.
 */
public interface UserWriter {
  /**
   * The mark stored last: "mark" and a space before it, so that none is "mark" alone; or a failure,
   * as above.
   */
  String begin();

  /** All rows of a batch, in a file of Arrow's stream format, which is deleted after the call. */
  String write(String file);

  String commit(String mark);

  String abort();

  String forget();

  String clear();

  String close();
}
