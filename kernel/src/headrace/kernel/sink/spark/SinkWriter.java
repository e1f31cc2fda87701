package headrace.kernel.sink.spark;

import headrace.kernel.sink.TaskResult;
import headrace.kernel.sink.TaskWriter;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A task's rows, to each destination that takes the batch. */
final class SinkWriter implements DataWriter<InternalRow> {
  private final TaskWriter[] writers;
  private long rows = 0;

  SinkWriter(TaskWriter[] writers) {
    this.writers = writers;
  }

  @Override
  public void write(InternalRow row) {
    rows++;
    for (TaskWriter writer : writers) if (writer != null) writer.write(row);
  }

  @Override
  public WriterCommitMessage commit() {
    Serializable[] parts = new Serializable[writers.length];
    for (int i = 0; i < writers.length; i++) if (writers[i] != null) parts[i] = writers[i].finish();
    return new TaskResult(rows, parts);
  }

  @Override
  public void abort() {
    for (TaskWriter writer : writers) if (writer != null) writer.abort();
  }

  @Override
  public void close() {}
}
