package headrace.kernel.sink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * A batch of a query, with what a destination needs to decide whether it already has it.
 *
 * @param checkpoint the id that Spark gave the checkpoint when it was made: a name would also fit
 *     another one in its place
 * @param number as Spark counts, from 0 in each checkpoint
 * @param hash of what the batch was planned from; a batch of the same number with other records has
 *     another
 */
public record Batch(String checkpoint, long number, String hash) {
  /** As planned: Spark writes a batch's offsets to its checkpoint before it runs the batch. */
  public static Batch planned(
      String checkpoint, long number, String location, Configuration hadoop) {
    Path file = new Path(location, "offsets/" + number);
    try (InputStream in = file.getFileSystem(hadoop).open(file)) {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(in.readAllBytes());
      return new Batch(checkpoint, number, HexFormat.of().formatHex(sum, 0, 16));
    } catch (FileNotFoundException e) {
      throw new UnplannedException(file);
    } catch (IOException e) {
      throw new SinkException(
          "the plan of batch " + number + " can't be read from " + file + ": " + e.getMessage(), e);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** There is no plan of the batch. */
  static final class UnplannedException extends RuntimeException {
    UnplannedException(Path file) {
      super(file + " is not there");
    }
  }

  public Mark done(long rows) {
    return new Mark(checkpoint, number, hash, rows);
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static String text(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, StandardCharsets.UTF_8);
  }
}
