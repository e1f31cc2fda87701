package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** Writes a {@link Block}. */
public final class BlockBuilder {
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private byte[] bytes;
  private int size = 0;
  /** The row after of the last change, if it may be given again. */
  private byte[] last;

  public BlockBuilder(int capacity) {
    bytes = new byte[capacity];
  }

  public boolean isEmpty() {
    return size == 0;
  }

  public int size() {
    return size;
  }

  public void add(Change change) {
    byte[] before = change.before();
    byte[] after = change.after();
    add(
        change.side(), change.time(), change.beforeTime(), change.version(), change.sequence(),
        before, START, before == null ? -1 : before.length,
        after, START, after == null ? -1 : after.length);
  }

  /** Rows are given as Spark gives them: an object (or null for memory outside of the heap), an offset and a length, -1 for none. */
  public void add(
      byte side, long time, long beforeTime, long version, long sequence,
      Object before, long beforeOffset, int beforeLength,
      Object after, long afterOffset, int afterLength) {
    last = null;
    add(
        side | (afterLength < 0 ? 0 : Block.AFTER), time, beforeTime, version, sequence,
        before, beforeOffset, beforeLength, after, afterOffset, afterLength);
  }

  /** A row after that is the same array as that of the change before is not written again. */
  void add(byte side, long time, long version, long sequence, Object before, long beforeOffset, int beforeLength, byte[] after) {
    boolean same = after != null && after == last;
    last = after;
    int flags = side | (same ? Block.SAME_AFTER : after != null ? Block.AFTER : 0);
    add(flags, time, 0, version, sequence, before, beforeOffset, beforeLength, after, START, same || after == null ? -1 : after.length);
  }

  private void add(
      int flags, long time, long beforeTime, long version, long sequence,
      Object before, long beforeOffset, int beforeLength,
      Object after, long afterOffset, int afterLength) {
    int more = Math.addExact(Block.HEAD + Math.max(beforeLength, 0), Math.max(afterLength, 0));
    int needed = Math.addExact(size, more);
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(needed, bytes.length * 2));
    if (beforeTime != 0) flags |= Block.BEFORE_TIME;
    if (version != 0) flags |= Block.VERSION;
    if (sequence != 0) flags |= Block.SEQUENCE;
    if (beforeLength >= 0) flags |= Block.BEFORE;
    bytes[size] = (byte) flags;
    Platform.putLong(bytes, START + size + 1, time);
    size += 9;
    number(beforeTime);
    number(version);
    number(sequence);
    row(before, beforeOffset, beforeLength);
    row(after, afterOffset, afterLength);
  }

  private void number(long number) {
    if (number == 0) return;
    Platform.putLong(bytes, START + size, number);
    size += 8;
  }

  private void row(Object source, long offset, int length) {
    if (length < 0) return;
    Platform.putInt(bytes, START + size, length);
    Platform.copyMemory(source, offset, bytes, START + size + 4, length);
    size += 4 + length;
  }

  public byte[] build() {
    return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
  }
}
