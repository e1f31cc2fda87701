package headrace.kernel.block;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * The key of a group: 8 bytes of its hash, then its row.
 *
 * <p>Spark sorts the rows that it groups, by the first 8 bytes as long as these differ. In a row
 * these are its null bits, mostly the same in all keys; with the hash before them, whole keys are
 * compared only if their hashes are equal.
 */
public final class Key {
  public static final int HASH = 8;

  private Key() {}

  public static long hash(UnsafeRow row) {
    return XXH64.hashUnsafeBytes(
        row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), 42);
  }

  public static void write(long hash, UnsafeRow row, byte[] bytes, long offset) {
    Platform.putLong(bytes, offset, hash);
    Platform.copyMemory(
        row.getBaseObject(), row.getBaseOffset(), bytes, offset + HASH, row.getSizeInBytes());
  }

  /** The row of a key. */
  public static byte[] row(byte[] bytes) {
    return Arrays.copyOfRange(bytes, HASH, bytes.length);
  }
}
