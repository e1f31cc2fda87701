package headrace.kernel.log;

import java.io.Serializable;

/**
 * One record of a log. Offsets are positions in the partition; {@code epoch} and {@code cut} say
 * which batch of which interval wrote it, both -1 when it came from outside.
 *
 * @param advance event time to move to, for a punctuation; null for a record
 */
record LogRecord(
    int partition,
    long offset,
    long micros,
    byte[] key,
    byte[] value,
    Long advance,
    long epoch,
    int cut)
    implements Serializable {

  boolean isPunctuation() {
    return advance != null;
  }
}
