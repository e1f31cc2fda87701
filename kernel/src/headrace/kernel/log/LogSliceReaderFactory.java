package headrace.kernel.log;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Finds the log in the JVM of the task: local mode only. */
final class LogSliceReaderFactory implements PartitionReaderFactory {
  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    LogSlice slice = (LogSlice) partition;
    MemoryLog log = MemoryLog.named(slice.log());
    return new LogSliceReader(
        slice.topic(), log.slice(slice.topic(), slice.partition(), slice.from(), slice.to()));
  }
}
