package headrace.kernel.table;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/** Bytes that can be looked up. */
final class Bytes {
  private final byte[] array;
  private final int hash;

  Bytes(byte[] array) {
    this.array = array;
    this.hash = Murmur3_x86_32.hashUnsafeBytes2(array, Platform.BYTE_ARRAY_OFFSET, array.length, 42);
  }

  static Bytes of(UnsafeRow row) {
    return new Bytes(row.getBytes());
  }

  byte[] array() {
    return array;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Bytes that && hash == that.hash && Arrays.equals(array, that.array);
  }

  @Override
  public int hashCode() {
    return hash;
  }
}
