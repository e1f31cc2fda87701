package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What a task tells when it is done: how many rows, and what each end's part of it left. */
record Note(long rows, Serializable[] parts) implements WriterCommitMessage {
  /** The batch was given up: what executors still hold for it is not needed. */
  void drop() {
    for (Serializable part : parts) if (part instanceof TaskOutput.Left left) left.drop();
  }
}
