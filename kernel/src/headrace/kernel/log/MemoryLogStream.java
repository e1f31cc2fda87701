package headrace.kernel.log;

import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** Reads a topic one interval between cuts a batch, in step with the query's other sources. */
final class MemoryLogStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String name;
  private final String topic;
  private final MemoryLog log;
  private final Lockstep steps;

  /**
   * @param checkpoint the source's own directory, {@code <checkpoint of the query>/sources/<n>}
   */
  MemoryLogStream(String name, String topic, String checkpoint) {
    this.name = name;
    this.topic = topic;
    this.log = MemoryLog.named(name);
    this.steps = log.steps(checkpoint.replaceFirst("/[^/]*/?$", ""));
    steps.join(this, topic);
  }

  @Override
  public Offset initialOffset() {
    return log.offsetAt(topic, 0);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException(
        "Spark asks latestOffset(start, limit) of a source with admission control");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    int cut = ((LogOffset) start).cut();
    int next = steps.next(this, cut);
    log.reach(query(), next);
    // From an offset at the very beginning Spark would run a first batch of nothing.
    if (next == 0) return null;
    return next == cut ? start : log.offsetAt(topic, next);
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    steps.fix();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    LogOffset from = (LogOffset) start;
    LogOffset to = (LogOffset) end;
    log.reach(query(), to.cut());
    return IntStream.range(0, to.partitionCount())
        .filter(i -> from.position(i) < to.position(i))
        .mapToObj(i -> new LogSlice(name, topic, i, from.position(i), to.position(i)))
        .toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new LogSliceReaderFactory();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return LogOffset.parse(json);
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {
    steps.leave(this);
  }

  @Override
  public String toString() {
    return "headrace-memory " + name + "/" + topic;
  }

  private static String query() {
    return SparkContext.getOrCreate().getLocalProperty("sql.streaming.queryId");
  }
}
