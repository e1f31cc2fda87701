package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/**
 * Changes that belong to one key, one after the other, in one array of bytes. This is what travels between Spark and the operators.
 *
 * <p>Each change: side (1 byte), time, time of the row before, version, sequence (8 bytes each, microseconds for times), then the
 * row before and the row after, each as a length (4 bytes, -1 for none) and that many bytes. Rows are Spark's UnsafeRow, or a
 * {@link Pair} of them. A block is read by moving through it: {@code while (block.next())}.
 */
public final class Block {
  /** A row that was expected to have a version and has none: a delete, which holds for whatever is known. */
  static final long NO_VERSION = Long.MIN_VALUE;

  static final int HEAD = 1 + 4 * 8;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private final byte[] bytes;
  private int at = 0;
  private int beforeAt;
  private int beforeLength;
  private int afterAt;
  private int afterLength;
  private int next = 0;

  public Block(byte[] bytes) {
    this.bytes = bytes;
  }

  public boolean next() {
    if (next >= bytes.length) return false;
    at = next;
    beforeLength = Platform.getInt(bytes, START + at + HEAD);
    beforeAt = at + HEAD + 4;
    int end = beforeAt + Math.max(beforeLength, 0);
    afterLength = Platform.getInt(bytes, START + end);
    afterAt = end + 4;
    next = afterAt + Math.max(afterLength, 0);
    return true;
  }

  byte side() {
    return bytes[at];
  }

  public long time() {
    return Platform.getLong(bytes, START + at + 1);
  }

  long beforeTime() {
    return Platform.getLong(bytes, START + at + 9);
  }

  public long version() {
    return Platform.getLong(bytes, START + at + 17);
  }

  public long sequence() {
    return Platform.getLong(bytes, START + at + 25);
  }

  byte[] before() {
    return beforeLength < 0 ? null : Arrays.copyOfRange(bytes, beforeAt, beforeAt + beforeLength);
  }

  public byte[] after() {
    return afterLength < 0 ? null : Arrays.copyOfRange(bytes, afterAt, afterAt + afterLength);
  }

  /** Where the row after begins; its length, -1 for none, is in the 4 bytes before. */
  public int afterAt() {
    return afterAt;
  }

  public Change change() {
    return new Change(side(), time(), beforeTime(), version(), sequence(), before(), after());
  }

  /** The row after and where it lies, for those who copy it elsewhere. */
  void copyAfterAsBefore(BlockBuilder out, byte side, long time, long version, byte[] after) {
    out.add(side, time, 0, version, sequence(), bytes, START + afterAt, afterLength, after, START, after == null ? -1 : after.length);
  }

}
