package headrace.kernel;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** The version of the kernel, so that Python can refuse another one. */
public final class Kernel {
  private Kernel() {}

  public static String version() throws IOException {
    try (InputStream in = Kernel.class.getResourceAsStream("version.txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
