package headrace.kernel.sink.spark;

import headrace.kernel.sink.TaskWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

record SinkWriterFactory(TaskWriter.Factory[] factories) implements StreamingDataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    TaskWriter[] writers = new TaskWriter[factories.length];
    for (int i = 0; i < factories.length; i++)
      if (factories[i] != null) writers[i] = factories[i].open(partition);
    return new SinkWriter(writers);
  }
}
