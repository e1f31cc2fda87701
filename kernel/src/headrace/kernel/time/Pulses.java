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
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * A source of times, each later than the one before. The offset is the time itself (microseconds),
 * so that a batch can be read again.
 *
 * <p>A bounded run adds none: it does not wait for silence. The source must still support such a
 * run; otherwise Spark executes all of it as one batch, with none after it to close windows.
 */
public final class Pulses implements MicroBatchStream, SupportsTriggerAvailableNow {
  private static final Map<String, Long> TIMES = new ConcurrentHashMap<>();

  private final String name;
  private boolean bounded = false;

  /** A query that starts knows only the time in its checkpoint. */
  Pulses(String name) {
    this.name = name;
    TIMES.remove(name);
  }

  /** Advances the time to this one, in microseconds since 1970. */
  public static void beat(String name, long time) {
    TIMES.merge(name, time, Math::max);
  }

  /** The latest time of the running query; 0 before the first pulse. */
  public static long last(String name) {
    return TIMES.getOrDefault(name, 0L);
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
    throw new UnsupportedOperationException(
        "Spark asks latestOffset(start, limit) of a source with admission control");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    beat(name, ((PulseOffset) start).time);
    if (bounded) return start;
    return new PulseOffset(last(name));
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    bounded = true;
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new PulseOffset(Long.parseLong(json));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    long time = ((PulseOffset) end).time;
    return time > ((PulseOffset) start).time
        ? new InputPartition[] {new Pulse(time)}
        : new InputPartition[0];
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
