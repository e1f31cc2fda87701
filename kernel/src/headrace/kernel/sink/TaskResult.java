package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * What a task tells when it is done: how many rows, and what each destination's part of it left.
 */
public record TaskResult(long rows, Serializable[] parts) implements WriterCommitMessage {
  /** The batch was given up: what executors still hold for it is not needed. */
  public void drop() {
    for (Serializable part : parts) if (part instanceof TaskOutput.Stored left) left.drop();
  }
}
