package headrace.kernel.log;

import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** Like Kafka's sink, appends in all output modes. */
record MemoryLogWriteBuilder(MemoryLogWrite write)
    implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
  @Override
  public WriteBuilder truncate() {
    return this;
  }

  @Override
  public Write build() {
    return new Write() {
      @Override
      public StreamingWrite toStreaming() {
        return write;
      }
    };
  }
}
