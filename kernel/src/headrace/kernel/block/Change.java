package headrace.kernel.block;

import java.util.Arrays;

/**
 * One change of a table, or one event: then {@code after} is the event and {@code before} is null.
 */
public record Change(
    byte side,
    long time,
    long beforeTime,
    long version,
    long sequence,
    byte[] before,
    byte[] after) {
  public static boolean same(byte[] one, byte[] other) {
    return one == other || (one != null && other != null && Arrays.equals(one, other));
  }
}
