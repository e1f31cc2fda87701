package headrace.kernel.sink;

/** A checkpoint and what an end remembers of it don't fit together: going on would lose rows or write them twice. */
public final class MarkException extends RuntimeException {
  private MarkException(String kind, String end, Mark mark, Batch batch) {
    super("HEADRACE_MARK kind=" + kind + " has=" + mark.batch() + " batch=" + batch.number() + " end=" + end);
  }

  /** The checkpoint is not the one that wrote: it was deleted, or swapped for another. */
  static MarkException other(String end, Mark mark, Batch batch) {
    return new MarkException("other", end, mark, batch);
  }

  /** The checkpoint is older than what was written: it was copied back. */
  static MarkException back(String end, Mark mark, Batch batch) {
    return new MarkException("back", end, mark, batch);
  }

  /** The batch was planned a second time, of other records. */
  static MarkException changed(String end, Mark mark, Batch batch) {
    return new MarkException("changed", end, mark, batch);
  }
}
