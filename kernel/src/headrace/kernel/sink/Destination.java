package headrace.kernel.sink;

import java.util.Map;

/**
 * One of the places a query writes to: topics, a database. Lives on the driver, for one run of the
 * query.
 */
public interface Destination extends AutoCloseable {
  /** Its name in errors. */
  String name();

  /** Its id in the checkpoint: the same for its whole life, even if it moves. */
  String id();

  /** What is copied, restored or lost as a whole, by its name in errors: a file, a server. */
  String place();

  /** Whether losing what it has confirmed is no reason to stop: a cache. */
  default boolean forgetful() {
    return false;
  }

  /** Fences earlier runs, then returns the mark of the last batch written, or null. Called once. */
  Mark begin();

  /**
   * Refuses a destination that has its mark, but not what was written with it. Called after {@link
   * #begin}, if the checkpoint knows the destination.
   */
  default void check(Mark mark, Confirmed.Last last) {}

  /** For topics, the offset after the last confirmed record, by partition. */
  default Map<String, Long> endOffsets() {
    return Map.of();
  }

  /** Begins a batch that the destination does not have. */
  BatchWrite open(Batch batch);

  /**
   * Writes the dead letters reported so far, by themselves: another sink writes the rows. Only
   * topics have them.
   */
  default void writeDeadLetters(Batch batch) {}

  /** Deletes the mark, so that the next batch is written, whichever it is. */
  void forget();

  /** Deletes its rows; topics are deleted elsewhere. */
  void empty();

  @Override
  void close();
}
