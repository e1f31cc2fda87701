package headrace.kernel.log;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

record MemoryLogScan(String log, String topic) implements Scan {
  @Override
  public StructType readSchema() {
    return MemoryLogTable.SCHEMA;
  }

  @Override
  public String description() {
    return "headrace-memory " + log + "/" + topic;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return new MemoryLogStream(log, topic, checkpointLocation);
  }
}
