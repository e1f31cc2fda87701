package headrace.kernel.log;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What one task wrote, on its way to the commit. */
record Staged(List<Row> rows) implements WriterCommitMessage {

  /**
   * @param partition of the row, or null to follow the key
   * @param micros of the row, or null for the log's clock
   */
  record Row(String topic, Integer partition, Long micros, byte[] key, byte[] value)
      implements Serializable {
    int partition(int count) {
      if (partition != null && (partition < 0 || partition >= count)) {
        throw new IllegalArgumentException(
            "no partition " + partition + " in topic '" + topic + "': it has " + count);
      }
      if (partition != null) return partition;
      return key == null ? 0 : (Murmur2.hash(key) & 0x7fffffff) % count;
    }
  }
}
