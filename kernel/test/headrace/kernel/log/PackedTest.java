package headrace.kernel.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class PackedTest {
  private static final byte[] KEY = {1, 2};
  private static final byte[] EMPTY = {};

  private static ByteBuffer inwards() {
    ByteBuffer packed = ByteBuffer.allocate(100);
    packed.putInt(2).putLong(-5).putInt(2).put(KEY).putInt(-1);
    return packed.putInt(0).putLong(7).putInt(-1).putInt(0);
  }

  @Test
  void nullAndEmptyStayApartOnTheWayIn() {
    List<String> seen = new ArrayList<>();
    byte[] packed = Arrays.copyOf(inwards().array(), inwards().position());
    int count =
        Packed.unpack(
            packed,
            (partition, micros, key, value) ->
                seen.add(
                    partition
                        + " "
                        + micros
                        + " "
                        + Arrays.toString(key)
                        + " "
                        + Arrays.toString(value)));
    assertEquals(2, count);
    assertEquals(List.of("2 -5 [1, 2] null", "0 7 null []"), seen);
  }

  @Test
  void aRecordCutShortIsAnError() {
    byte[] packed = Arrays.copyOf(inwards().array(), inwards().position() - 1);
    assertThrows(
        BufferUnderflowException.class,
        () -> Packed.unpack(packed, (partition, micros, key, value) -> {}));
  }

  @Test
  void punctuationsAreNotPacked() {
    var record = new LogRecord(2, 40, -5, KEY, EMPTY, null, 6, 9);
    var punctuation = new LogRecord(0, 41, 7, null, null, 7L, -1, -1);
    var tombstone = new LogRecord(1, 42, 8, null, null, null, -1, -1);
    ByteBuffer expected = ByteBuffer.allocate(100);
    expected.putInt(2).putLong(40).putLong(-5).putLong(6).putInt(9).putInt(2).put(KEY).putInt(0);
    expected.putInt(1).putLong(42).putLong(8).putLong(-1).putInt(-1).putInt(-1).putInt(-1);
    byte[] packed = Packed.pack(List.of(record, punctuation, tombstone));
    assertArrayEquals(Arrays.copyOf(expected.array(), expected.position()), packed);
  }
}
