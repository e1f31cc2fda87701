package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * The key of a group: 8 bytes of its hash, then its row.
 *
 * <p>Spark sorts what it groups, by the first 8 bytes as long as these differ. Those of a row say which of its columns are null, and so
 * are the same in all keys; with the hash before them a whole key is compared only with its like.
 */
public final class Key {
  private static final int HASH = 8;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private final byte[] bytes;

  private Key(byte[] bytes) {
    this.bytes = bytes;
  }

  static Key of(UnsafeRow row) {
    byte[] bytes = new byte[HASH + row.getSizeInBytes()];
    Platform.copyMemory(row.getBaseObject(), row.getBaseOffset(), bytes, START + HASH, row.getSizeInBytes());
    Platform.putLong(bytes, START, XXH64.hashUnsafeBytes(bytes, START + HASH, row.getSizeInBytes(), 42));
    return new Key(bytes);
  }

  byte[] bytes() {
    return bytes;
  }

  /** The row of a key that came back as bytes. */
  public static byte[] row(byte[] bytes) {
    return Arrays.copyOfRange(bytes, HASH, bytes.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Key that && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return Platform.getInt(bytes, START);
  }
}
