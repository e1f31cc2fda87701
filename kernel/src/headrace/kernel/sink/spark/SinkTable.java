package headrace.kernel.sink.spark;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;

/** What a query writes to: takes the rows of all output modes as they come. */
final class SinkTable implements SupportsWrite {
  @Override
  public String name() {
    return "headrace";
  }

  @Override
  @Deprecated
  public StructType schema() {
    return new StructType();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    String sink = info.options().get("sink");
    String location = info.options().get("checkpointLocation");
    return new Builder(new SinkWrite(sink, info.queryId(), location));
  }

  private record Builder(SinkWrite write)
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
}
