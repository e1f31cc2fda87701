package headrace.kernel.log;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

final class LogWriter implements DataWriter<InternalRow> {
  private final Columns columns;
  private final List<Staged.Row> rows = new ArrayList<>();

  LogWriter(Columns columns) {
    this.columns = columns;
  }

  @Override
  public void write(InternalRow row) {
    rows.add(columns.row(row));
  }

  @Override
  public WriterCommitMessage commit() {
    return new Staged(rows);
  }

  @Override
  public void abort() {}

  @Override
  public void close() {}
}
