package headrace.kernel.block;

import org.apache.spark.unsafe.Platform;

/**
 * Two rows, either of which may be missing, in one array: the length of the first (-1: none), the
 * first, then the second, if any.
 */
public final class Pair {
  static final int HEAD = 5;

  private Pair() {}

  public static byte[] of(byte[] left, byte[] right) {
    int leftLength = left == null ? 0 : left.length;
    byte[] both = new byte[HEAD + leftLength + (right == null ? 0 : right.length)];
    Platform.putInt(both, Platform.BYTE_ARRAY_OFFSET, left == null ? -1 : leftLength);
    both[4] = (byte) (right == null ? 0 : 1);
    if (left != null) System.arraycopy(left, 0, both, HEAD, leftLength);
    if (right != null) System.arraycopy(right, 0, both, HEAD + leftLength, right.length);
    return both;
  }
}
