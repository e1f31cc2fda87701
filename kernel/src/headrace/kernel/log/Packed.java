package headrace.kernel.log;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Records as one array of bytes, big-endian, since a call per record is slow from Python. Inwards
 * {@code partition int, micros long, key, value}; outwards {@code partition int, offset long,
 * micros long, epoch long, cut int, key, value}; key and value are a length (-1 for null) and
 * bytes.
 */
final class Packed {
  @FunctionalInterface
  interface Target {
    void accept(int partition, long micros, byte[] key, byte[] value);
  }

  private Packed() {}

  static int unpack(byte[] packed, Target target) {
    ByteBuffer in = ByteBuffer.wrap(packed);
    int count = 0;
    for (; in.hasRemaining(); count++)
      target.accept(in.getInt(), in.getLong(), bytes(in), bytes(in));
    return count;
  }

  static byte[] pack(List<LogRecord> records) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      for (LogRecord record : records) {
        if (record.isPunctuation()) continue;
        out.writeInt(record.partition());
        out.writeLong(record.offset());
        out.writeLong(record.micros());
        out.writeLong(record.epoch());
        out.writeInt(record.cut());
        write(out, record.key());
        write(out, record.value());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static byte[] bytes(ByteBuffer in) {
    int length = in.getInt();
    if (length < 0) return null;
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static void write(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) out.write(bytes);
  }
}
