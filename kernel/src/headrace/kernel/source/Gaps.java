package headrace.kernel.source;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;

/**
 * Offsets that a query skips, because their records were deleted before it read them and the user
 * accepted the loss.
 */
public final class Gaps {
  private record Gap(String topic, int partition, long begin, long end) {
    boolean holds(KafkaOffsetRange range) {
      return topic.equals(range.topic())
          && partition == range.partition()
          && begin <= range.fromOffset()
          && range.fromOffset() < end;
    }
  }

  private static final Map<String, List<Gap>> KNOWN = new ConcurrentHashMap<>();

  private Gaps() {}

  /**
   * @param query the id in its checkpoint
   */
  public static void add(String query, String topic, int partition, long begin, long end) {
    KNOWN
        .computeIfAbsent(query, id -> new CopyOnWriteArrayList<>())
        .add(new Gap(topic, partition, begin, end));
  }

  public static void forget(String query) {
    KNOWN.remove(query);
  }

  /** A range without its gaps, in the query that this thread plans. */
  static KafkaBatchInputPartition after(KafkaBatchInputPartition stretch, SparkContext context) {
    String query = context.getLocalProperty("sql.streaming.queryId");
    for (Gap gap : query == null ? List.<Gap>of() : KNOWN.getOrDefault(query, List.of())) {
      KafkaOffsetRange range = stretch.offsetRange();
      if (!gap.holds(range)) continue;
      KafkaOffsetRange rest =
          range.copy(
              range.topicPartition(),
              Math.min(gap.end, range.untilOffset()),
              range.untilOffset(),
              range.preferredLoc());
      stretch =
          stretch.copy(
              rest,
              stretch.executorKafkaParams(),
              stretch.pollTimeoutMs(),
              stretch.failOnDataLoss(),
              stretch.includeHeaders());
    }
    return stretch;
  }
}
