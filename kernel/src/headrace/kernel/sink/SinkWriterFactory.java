package headrace.kernel.sink;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

record SinkWriterFactory(Pen[] pens) implements StreamingDataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    Pen.Lines[] ends = new Pen.Lines[pens.length];
    for (int i = 0; i < pens.length; i++) if (pens[i] != null) ends[i] = pens[i].lines(partition);
    return new SinkWriter(ends);
  }
}
