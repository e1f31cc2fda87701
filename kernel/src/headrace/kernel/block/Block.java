package headrace.kernel.block;

import headrace.kernel.table.Operator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.Platform;

/**
 * Changes of one key, one after the other, as bytes. Blocks travel between Spark and the operators.
 *
 * <p>Each change: a byte of flags, the time (8 bytes, microseconds), then the fields whose flags
 * are set: the time of the row before, the version, the sequence (8 bytes each; 0 if absent), the
 * row before and the row after, each as a length (4 bytes) and that many bytes. Rows are Spark's
 * UnsafeRow, or a {@link Pair} of them. A block is read by moving through it: {@code while
 * (block.next())}.
 */
public final class Block {
  /** The version of a delete, which has none: it applies to whatever row is stored. */
  public static final long NO_VERSION = Long.MIN_VALUE;

  /**
   * Flags. The first is the side; with the last one the bytes hold a count instead, see {@link
   * Operator}.
   */
  public static final int RIGHT = 1,
      BEFORE = 2,
      AFTER = 4,
      BEFORE_TIME = 8,
      VERSION = 16,
      SEQUENCE = 32,
      SAME_AFTER = 64,
      NO_CHANGES = 128;

  /** The maximum size of a change without its rows. */
  static final int HEAD = 1 + 4 * 8 + 2 * 4;

  private final Object base;
  private final long end;
  private int flags;
  private long time;
  private long beforeTime;
  private long version;
  private long sequence;
  private long beforeAt;
  private int beforeLength;
  private long afterAt;
  private int afterLength;
  private long next;

  public Block(byte[] bytes) {
    this(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
  }

  /** A block in Spark's memory, read in place. */
  Block(Object base, long offset, int length) {
    this.base = base;
    this.next = offset;
    this.end = offset + length;
  }

  /** The side of a block's changes, which is one for all of them. */
  public static byte side(byte[] block) {
    return (byte) (block[0] & RIGHT);
  }

  public boolean next() {
    if (next >= end) return false;
    flags = Platform.getByte(base, next);
    time = Platform.getLong(base, next + 1);
    next += 9;
    beforeTime = number(BEFORE_TIME);
    version = number(VERSION);
    sequence = number(SEQUENCE);
    beforeLength = length(BEFORE);
    beforeAt = next;
    next += Math.max(beforeLength, 0);
    if (has(SAME_AFTER)) return true;
    afterLength = length(AFTER);
    afterAt = next;
    next += Math.max(afterLength, 0);
    return true;
  }

  private boolean has(int flag) {
    return (flags & flag) != 0;
  }

  private long number(int flag) {
    if (!has(flag)) return 0;
    next += 8;
    return Platform.getLong(base, next - 8);
  }

  private int length(int flag) {
    if (!has(flag)) return -1;
    next += 4;
    return Platform.getInt(base, next - 4);
  }

  public byte side() {
    return (byte) (flags & RIGHT);
  }

  public long time() {
    return time;
  }

  long beforeTime() {
    return beforeTime;
  }

  public long version() {
    return version;
  }

  public long sequence() {
    return sequence;
  }

  byte[] before() {
    return bytes(beforeAt, beforeLength);
  }

  public byte[] after() {
    return bytes(afterAt, afterLength);
  }

  private byte[] bytes(long at, int length) {
    if (length < 0) return null;
    byte[] bytes = new byte[length];
    Platform.copyMemory(base, at, bytes, Platform.BYTE_ARRAY_OFFSET, length);
    return bytes;
  }

  /** The row before as a struct that points into the block. */
  InternalRow before(Struct struct) {
    return struct.at(base, beforeAt, beforeLength);
  }

  InternalRow after(Struct struct) {
    return struct.at(base, afterAt, afterLength);
  }

  /**
   * Where in the array the row after, which must be there, begins; its length is in the 4 bytes
   * before.
   */
  public int afterAt() {
    return (int) (afterAt - Platform.BYTE_ARRAY_OFFSET);
  }

  public Change change() {
    return new Change(side(), time, beforeTime, version, sequence, before(), after());
  }

  /** The row after becomes the row before of a change with another row after. */
  public void copyAfterAsBefore(
      BlockBuilder out, byte side, long time, long version, byte[] after) {
    out.add(side, time, version, sequence, base, afterAt, afterLength, after);
  }
}
