package headrace.kernel.slide;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** Writes the bytes of {@link Chunk}s; reusable. */
final class ChunkBuilder {
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private byte[] bytes = new byte[4096];
  private int size;
  private int count;

  void begin() {
    size = Chunk.HEAD;
    count = 0;
  }

  int count() {
    return count;
  }

  void add(long time, byte[] source, int at, int length) {
    int needed = Math.addExact(size + Chunk.EVENT, length);
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(needed, bytes.length * 2));
    Platform.putLong(bytes, START + size, time);
    Platform.putInt(bytes, START + size + 8, length);
    System.arraycopy(source, at, bytes, size + Chunk.EVENT, length);
    size = needed;
    count++;
  }

  byte[] build() {
    return Arrays.copyOf(bytes, size);
  }
}
