package headrace.kernel.sink;

/**
 * A checkpoint and a destination's mark don't fit together: to continue would lose rows or write
 * them twice.
 */
public final class MarkException extends RuntimeException {
  private final String kind;

  /**
   * @param has the destination's last batch, -1 for none
   */
  private MarkException(String kind, String destination, long has, long batch) {
    super("HEADRACE_MARK kind=" + kind + " has=" + has + " batch=" + batch + " end=" + destination);
    this.kind = kind;
  }

  /** Whether the destination, not the checkpoint, has lost something. */
  boolean lost() {
    return kind.equals("lost") || kind.equals("cut");
  }

  /** The checkpoint is not the one that wrote: it was deleted, or swapped for another. */
  static MarkException other(String destination, Mark mark, long batch) {
    return new MarkException("other", destination, mark.batch(), batch);
  }

  /** The checkpoint is older than what was written: it was copied back. */
  static MarkException back(String destination, Mark mark, long batch) {
    return new MarkException("back", destination, mark.batch(), batch);
  }

  /** The batch was planned a second time, of other records. */
  static MarkException changed(String destination, Mark mark, long batch) {
    return new MarkException("changed", destination, mark.batch(), batch);
  }

  /**
   * The destination has less than it has confirmed: it was restored from an older copy, or lost
   * writes.
   */
  static MarkException lost(String destination, Mark mark, long confirmed) {
    return new MarkException("lost", destination, mark == null ? -1 : mark.batch(), confirmed);
  }

  /** Its mark exists, but what was written with it does not; {@code what} is the message. */
  public static MarkException cut(String what, Mark mark) {
    return new MarkException("cut", what, mark.batch(), mark.batch());
  }
}
