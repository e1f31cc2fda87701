package headrace.kernel.sink;

import java.util.Map;

/**
 * One of the places a query writes to: topics, a database. Lives on the driver, for one run of the
 * query.
 */
public interface Destination extends AutoCloseable {
  /** As errors name it. */
  String name();

  /** As the checkpoint knows it; the same for its whole life, wherever the destination moves. */
  String id();

  /**
   * The whole of what is copied, restored or lost together, as errors name it: a file, a server.
   */
  String place();

  /** Whether what it has confirmed may be gone, and nobody should stop because of it. */
  default boolean forgetful() {
    return false;
  }

  /**
   * Sees to it that no earlier run can write any more, then says what was written last; null for
   * nothing. Asked once.
   */
  Mark begin();

  /**
   * Refuses a destination that has its mark and not what was written with it. Asked after {@link
   * #begin}, of one that is known.
   */
  default void check(Mark mark, Confirmed.Last last) {}

  /** Of topics, the offset behind the last record that was confirmed, by partition. */
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

  /** Lets go of the mark: the next batch is written, whichever it is. */
  void forget();

  /** Deletes the rows that are there; those of topics are deleted elsewhere. */
  void empty();

  @Override
  void close();
}
