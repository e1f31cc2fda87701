package headrace.kernel.log;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.unsafe.types.UTF8String;

final class LogSliceReader implements PartitionReader<InternalRow> {
  private static final int LOG_APPEND_TIME = 1;

  private final UTF8String topic;
  private final List<LogRecord> records;
  private int at = -1;

  LogSliceReader(String topic, List<LogRecord> records) {
    this.topic = UTF8String.fromString(topic);
    this.records = records;
  }

  @Override
  public boolean next() {
    return ++at < records.size();
  }

  @Override
  public InternalRow get() {
    LogRecord it = records.get(at);
    return new GenericInternalRow(
        new Object[] {
          it.key(),
          it.value(),
          topic,
          it.partition(),
          it.offset(),
          it.micros(),
          LOG_APPEND_TIME,
          it.advance()
        });
  }

  @Override
  public void close() {}
}
