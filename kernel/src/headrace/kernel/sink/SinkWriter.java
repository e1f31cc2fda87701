package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A task's rows, to each end that takes the batch. */
final class SinkWriter implements DataWriter<InternalRow> {
  private final Pen.Lines[] ends;
  private long rows = 0;

  SinkWriter(Pen.Lines[] ends) {
    this.ends = ends;
  }

  @Override
  public void write(InternalRow row) {
    rows++;
    for (Pen.Lines end : ends) if (end != null) end.write(row);
  }

  @Override
  public WriterCommitMessage commit() {
    Serializable[] parts = new Serializable[ends.length];
    for (int i = 0; i < ends.length; i++) if (ends[i] != null) parts[i] = ends[i].finish();
    return new Note(rows, parts);
  }

  @Override
  public void abort() {
    for (Pen.Lines end : ends) if (end != null) end.abort();
  }

  @Override
  public void close() {}
}
