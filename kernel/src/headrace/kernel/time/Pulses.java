package headrace.kernel.time;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** Times, each later than the one before. The offset is the time itself (microseconds), so that a batch can be read again. */
public final class Pulses implements MicroBatchStream {
  private static final Map<String, Long> TIMES = new ConcurrentHashMap<>();

  private final String name;
  private long seen = 0;

  Pulses(String name) {
    this.name = name;
  }

  /** Time has come so far, in microseconds since 1970. */
  public static void beat(String name, long time) {
    TIMES.merge(name, time, Math::max);
  }

  private static final class PulseOffset extends Offset {
    private final long time;

    PulseOffset(long time) {
      this.time = time;
    }

    @Override
    public String json() {
      return Long.toString(time);
    }
  }

  private record Pulse(long time) implements InputPartition {}

  @Override
  public Offset initialOffset() {
    return new PulseOffset(0);
  }

  @Override
  public Offset latestOffset() {
    // A run that begins knows none yet, and must not fall behind what is in its checkpoint.
    return new PulseOffset(Math.max(seen, TIMES.getOrDefault(name, 0L)));
  }

  @Override
  public Offset deserializeOffset(String json) {
    long time = Long.parseLong(json);
    seen = Math.max(seen, time);
    return new PulseOffset(time);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    long time = ((PulseOffset) end).time;
    return time > ((PulseOffset) start).time ? new InputPartition[] {new Pulse(time)} : new InputPartition[0];
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers();
  }

  private static final class Readers implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new PartitionReader<>() {
        private boolean read = false;

        @Override
        public boolean next() {
          boolean first = !read;
          read = true;
          return first;
        }

        @Override
        public InternalRow get() {
          return new GenericInternalRow(new Object[] {((Pulse) partition).time()});
        }

        @Override
        public void close() {}
      };
    }
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
