package headrace.kernel.block;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** Writes a {@link Block}. */
public class BlockBuilder {
  static final long AT = Platform.BYTE_ARRAY_OFFSET;

  /** Where the block begins; the bytes before are the subclass's. */
  private final int start;

  private byte[] bytes;
  private int end;

  /** The row after of the last change, if the next one may repeat it. */
  private byte[] last;

  public BlockBuilder(int capacity) {
    this(0, capacity);
  }

  BlockBuilder(int start, int capacity) {
    this.start = start;
    bytes = new byte[start + capacity];
    end = start;
  }

  public final boolean isEmpty() {
    return end == start;
  }

  public final int size() {
    return end - start;
  }

  /** The memory it takes, in bytes. */
  final int capacity() {
    return bytes.length;
  }

  final byte[] bytes() {
    return bytes;
  }

  public final void clear() {
    end = start;
    last = null;
  }

  public final void add(Change change) {
    byte[] before = change.before();
    byte[] after = change.after();
    add(
        change.side(),
        change.time(),
        change.beforeTime(),
        change.version(),
        change.sequence(),
        before,
        AT,
        before == null ? -1 : before.length,
        after,
        AT,
        after == null ? -1 : after.length);
  }

  /**
   * Rows are addressed as in Spark: an object (null for memory outside of the heap), an offset and
   * a length, -1 for none.
   */
  public final void add(
      byte side,
      long time,
      long beforeTime,
      long version,
      long sequence,
      Object before,
      long beforeOffset,
      int beforeLength,
      Object after,
      long afterOffset,
      int afterLength) {
    last = null;
    add(
        side | (afterLength < 0 ? 0 : Block.AFTER),
        time,
        beforeTime,
        version,
        sequence,
        before,
        beforeOffset,
        beforeLength,
        after,
        afterOffset,
        afterLength);
  }

  /** A row after that is the same array as that of the change before is not written again. */
  final void add(
      byte side,
      long time,
      long version,
      long sequence,
      Object before,
      long beforeOffset,
      int beforeLength,
      byte[] after) {
    boolean same = after != null && after == last;
    last = after;
    int flags = side | (same ? Block.SAME_AFTER : after != null ? Block.AFTER : 0);
    add(
        flags,
        time,
        0,
        version,
        sequence,
        before,
        beforeOffset,
        beforeLength,
        after,
        AT,
        same || after == null ? -1 : after.length);
  }

  private void add(
      int flags,
      long time,
      long beforeTime,
      long version,
      long sequence,
      Object before,
      long beforeOffset,
      int beforeLength,
      Object after,
      long afterOffset,
      int afterLength) {
    room(
        Math.addExact(
            end, Math.addExact(Block.HEAD + Math.max(beforeLength, 0), Math.max(afterLength, 0))));
    if (beforeTime != 0) flags |= Block.BEFORE_TIME;
    if (version != 0) flags |= Block.VERSION;
    if (sequence != 0) flags |= Block.SEQUENCE;
    if (beforeLength >= 0) flags |= Block.BEFORE;
    bytes[end] = (byte) flags;
    Platform.putLong(bytes, AT + end + 1, time);
    end += 9;
    number(beforeTime);
    number(version);
    number(sequence);
    row(before, beforeOffset, beforeLength);
    row(after, afterOffset, afterLength);
  }

  private void number(long number) {
    if (number == 0) return;
    Platform.putLong(bytes, AT + end, number);
    end += 8;
  }

  private void row(Object source, long offset, int length) {
    if (length < 0) return;
    Platform.putInt(bytes, AT + end, length);
    Platform.copyMemory(source, offset, bytes, AT + end + 4, length);
    end += 4 + length;
  }

  /** Ensures a capacity in bytes, which it returns. */
  final int room(int needed) {
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(needed, bytes.length * 2));
    return needed;
  }

  public final byte[] build() {
    return Arrays.copyOfRange(bytes, start, end);
  }
}
