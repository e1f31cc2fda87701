package headrace.kernel.table.aggregate;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** What an accumulator keeps, as bytes. */
final class Written {
  private Written() {}

  static byte[] of(Accumulator accumulator) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      accumulator.write(new DataOutputStream(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /** Another one that reads what this one wrote. */
  static <A extends Accumulator> A again(A accumulator, A other) {
    try {
      other.read(new DataInputStream(new ByteArrayInputStream(of(accumulator))));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return other;
  }
}
