package headrace.kernel.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * What each destination has confirmed, as the checkpoint knows it. A destination whose mark is
 * older was restored from an older copy or lost writes.
 *
 * <p>It is a small file in the checkpoint's folder {@code confirmed}, named after the batch, as
 * Spark's own are: written when all destinations have committed the batch and before Spark notes it
 * as done, then the one before is deleted. A batch that writes nothing leaves no mark anywhere and
 * no file here.
 */
public final class Confirmed {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * @param batch the last one whose mark was written there
   * @param ends for topics, the offset after the last record, by partition ("topic/0")
   */
  public record Last(long batch, Map<String, Long> ends) {}

  private final Path place;
  private final CheckpointFileManager files;
  private Map<String, Last> known = new TreeMap<>();

  /** The number of the file that has them; -1 for none. */
  private long written;

  private Confirmed(Path place, Configuration hadoop) throws IOException {
    this.place = place;
    this.files = CheckpointFileManager.create(place, hadoop);
    this.written = newest("confirmed");
    if (written < 0) return;
    try (InputStream in = files.open(file(written))) {
      known = JSON.readValue(in, new TypeReference<TreeMap<String, Last>>() {});
    }
  }

  /** {@code location} is the checkpoint's. */
  public static Confirmed at(String location, Configuration hadoop) {
    try {
      return new Confirmed(new Path(location), hadoop);
    } catch (JsonProcessingException e) {
      throw new SinkException(
          "HEADRACE_DAMAGED what the destinations confirmed is not JSON: " + e.getOriginalMessage(),
          e);
    } catch (IOException e) {
      throw unreadable(location, e);
    }
  }

  /** Null if nothing was confirmed there, as far as is known. */
  Last last(String destination) {
    return known.get(destination);
  }

  /** On the disk when this returns. */
  void write(long batch, Map<String, Last> now) {
    if (known.equals(now)) return;
    if (written < 0) files.mkdirs(new Path(place, "confirmed"));
    try {
      var out = files.createAtomic(file(batch), true);
      try {
        out.write(JSON.writeValueAsBytes(now));
        out.close();
      } catch (IOException | RuntimeException e) {
        out.cancel();
        throw e;
      }
      if (written >= 0 && written != batch) files.delete(file(written));
    } catch (IOException e) {
      throw new SinkException(
          "what was written can't be noted in " + file(batch) + ": " + e.getMessage(), e);
    }
    known = new TreeMap<>(now);
    written = batch;
  }

  void forget(String destination) {
    if (known.remove(destination) == null) return;
    Map<String, Last> left = known;
    known = new TreeMap<>();
    files.delete(new Path(place, "confirmed"));
    if (!left.isEmpty()) write(written, left);
  }

  /** The checkpoint's own id; null before its first run. */
  String checkpoint() {
    Path metadata = new Path(place, "metadata");
    try {
      if (!files.exists(metadata)) return null;
      try (InputStream in = files.open(metadata)) {
        return JSON.readTree(in).path("id").asText();
      }
    } catch (IOException e) {
      throw unreadable(place.toString(), e);
    }
  }

  /** The last batch that Spark has noted as done; -1 for none. */
  long done() {
    return newest("commits");
  }

  private long newest(String log) {
    Path folder = new Path(place, log);
    if (!files.exists(folder)) return -1;
    return Arrays.stream(files.list(folder))
        .map(status -> status.getPath().getName())
        .filter(name -> name.matches("\\d+"))
        .mapToLong(Long::parseLong)
        .max()
        .orElse(-1);
  }

  private Path file(long batch) {
    return new Path(place, "confirmed/" + batch);
  }

  private static SinkException unreadable(String place, IOException e) {
    return new SinkException("the checkpoint " + place + " can't be read: " + e.getMessage(), e);
  }
}
