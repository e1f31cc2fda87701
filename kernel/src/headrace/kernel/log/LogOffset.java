package headrace.kernel.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Arrays;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** A cut and where it fell in each partition: {@code {"cut":3,"positions":[5,2]}}. */
final class LogOffset extends Offset {
  private final int cut;
  private final long[] positions;

  LogOffset(int cut, long[] positions) {
    this.cut = cut;
    this.positions = positions;
  }

  static LogOffset parse(String json) {
    try {
      JsonNode tree = new ObjectMapper().readTree(json);
      long[] positions = new long[tree.get("positions").size()];
      for (int i = 0; i < positions.length; i++)
        positions[i] = tree.get("positions").get(i).asLong();
      return new LogOffset(tree.get("cut").asInt(), positions);
    } catch (JsonProcessingException | NullPointerException e) {
      throw new IllegalArgumentException("not an offset of a memory log: " + json, e);
    }
  }

  int cut() {
    return cut;
  }

  long position(int partition) {
    return positions[partition];
  }

  int partitionCount() {
    return positions.length;
  }

  @Override
  public String json() {
    return "{\"cut\":"
        + cut
        + ",\"positions\":"
        + Arrays.toString(positions).replace(" ", "")
        + "}";
  }
}
