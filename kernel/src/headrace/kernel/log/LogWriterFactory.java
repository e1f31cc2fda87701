package headrace.kernel.log;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

record LogWriterFactory(Columns columns) implements StreamingDataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    return new LogWriter(columns);
  }
}
