package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A finished task's report: the number of its rows, and its part of each destination's output. */
public record TaskResult(long rows, Serializable[] parts) implements WriterCommitMessage {
  /** After an abort: frees what executors still hold for the batch. */
  public void drop() {
    for (Serializable part : parts) if (part instanceof TaskOutput.Stored left) left.drop();
  }
}
