package headrace.kernel.sink.spark;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.Destinations;
import headrace.kernel.sink.TaskResult;
import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/** Spark makes one for each batch; what lasts is in {@link Destinations}. */
record SinkWrite(String sink, String checkpoint, String location) implements StreamingWrite {
  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    var context = SparkSession.active().sparkContext();
    long number = Long.parseLong(context.getLocalProperty("streaming.sql.batchId"));
    Batch batch = Batch.planned(checkpoint, number, location, context.hadoopConfiguration());
    return new SinkWriterFactory(Destinations.named(sink).open(batch));
  }

  @Override
  public void commit(long epoch, WriterCommitMessage[] messages) {
    Destinations.named(sink)
        .commit(epoch, Arrays.stream(messages).map(TaskResult.class::cast).toList());
  }

  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {
    for (WriterCommitMessage message : messages)
      if (message instanceof TaskResult result) result.drop();
    Destinations found = Destinations.find(sink);
    if (found != null) found.abort();
  }
}
