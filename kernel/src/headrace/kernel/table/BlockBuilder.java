package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** Writes a {@link Block}. */
public final class BlockBuilder {
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private byte[] bytes;
  private int size = 0;

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
    int more = Math.addExact(Block.HEAD + 8 + Math.max(beforeLength, 0), Math.max(afterLength, 0));
    int needed = Math.addExact(size, more);
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(needed, bytes.length * 2));
    bytes[size] = side;
    Platform.putLong(bytes, START + size + 1, time);
    Platform.putLong(bytes, START + size + 9, beforeTime);
    Platform.putLong(bytes, START + size + 17, version);
    Platform.putLong(bytes, START + size + 25, sequence);
    size += Block.HEAD;
    row(before, beforeOffset, beforeLength);
    row(after, afterOffset, afterLength);
  }

  private void row(Object source, long offset, int length) {
    Platform.putInt(bytes, START + size, length);
    size += 4;
    if (length > 0) {
      Platform.copyMemory(source, offset, bytes, START + size, length);
      size += length;
    }
  }

  public byte[] build() {
    return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
  }
}
