package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;

/**
 * The key of a group: 8 bytes of its hash, then its row.
 *
 * <p>Spark sorts what it groups, by the first 8 bytes as long as these differ. Those of a row say which of its columns are null, and so
 * are the same in all keys; with the hash before them a whole key is compared only with its like.
 */
public final class Key {
  private static final int HASH = 8;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private final long hash;
  private final Object base;
  private final long offset;
  private final int length;

  private Key(long hash, Object base, long offset, int length) {
    this.hash = hash;
    this.base = base;
    this.offset = offset;
    this.length = length;
  }

  /** The key of a row, which stays where it is: good for a look into a map, as long as the row is there. */
  static Key of(UnsafeRow row) {
    Object base = row.getBaseObject();
    long offset = row.getBaseOffset();
    int length = row.getSizeInBytes();
    return new Key(XXH64.hashUnsafeBytes(base, offset, length, 42), base, offset, length);
  }

  /** The same key with bytes of its own. */
  Key kept() {
    return new Key(hash, bytes(), START + HASH, length);
  }

  byte[] bytes() {
    byte[] bytes = new byte[HASH + length];
    Platform.putLong(bytes, START, hash);
    Platform.copyMemory(base, offset, bytes, START + HASH, length);
    return bytes;
  }

  /** The row of a key that came back as bytes. */
  public static byte[] row(byte[] bytes) {
    return Arrays.copyOfRange(bytes, HASH, bytes.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Key that
        && hash == that.hash
        && length == that.length
        && ByteArrayMethods.arrayEquals(base, offset, that.base, that.offset, length);
  }

  @Override
  public int hashCode() {
    return (int) hash;
  }
}
