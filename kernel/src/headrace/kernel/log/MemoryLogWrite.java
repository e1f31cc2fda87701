package headrace.kernel.log;

import java.util.Arrays;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/**
 * Tasks hand their rows to the commit, which appends them in the order of the tasks' partitions.
 */
record MemoryLogWrite(String log, String query, Columns columns) implements StreamingWrite {
  MemoryLogWrite {
    MemoryLog.named(log);
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    return new LogWriterFactory(columns);
  }

  @Override
  public void commit(long epoch, WriterCommitMessage[] messages) {
    MemoryLog.named(log)
        .commit(query, epoch, Arrays.stream(messages).map(Staged.class::cast).toList());
  }

  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {}
}
