package headrace.kernel.source;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.WeakHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;
import org.apache.spark.util.UninterruptibleThread;
import scala.collection.AbstractIterator;

/**
 * Reads a range of offsets of a topic's partition.
 *
 * <pre>
 * take a consumer from Spark's pool; if its last poll left records over from next on: start there
 * while next &lt; until:
 *   if records are polled: emit the next one; if its offset is past the range: stop
 *   else if the consumer's position is past next: next = position
 *     (the offsets between were compacted or rolled back, or are markers)
 *   else: poll, for at most a second
 *     if that makes no progress, or the offset is out of range:
 *       Spark's reader reads the rest, and raises its errors
 * at the end: leave records past the range, and the position, to the next reader of this consumer
 * </pre>
 *
 * <p>After every fetch, Spark's own reader asks the broker for the beginning and the end of the
 * log, which discards what the consumer has fetched ahead; and it copies each record into a row.
 * This one only polls. It notices every loss: the consumer never resets its position, so a fetch of
 * offsets that were deleted fails.
 */
final class TopicReader extends AbstractIterator<InternalRow> {
  /**
   * Records of the last poll that are past the range: the next reader of the consumer begins with
   * them.
   */
  private static final Map<InternalKafkaConsumer, Rest> RESTS =
      Collections.synchronizedMap(new WeakHashMap<>());

  private static final Duration A_WHILE = Duration.ofSeconds(1);
  private static final Method CONSUMER = consumerOf();
  private static final long UNKNOWN = -1;

  private record Rest(
      List<ConsumerRecord<byte[], byte[]>> polled, int at, long next, long position) {}

  private final KafkaDataConsumer spark;
  private final TopicPartition partition;
  private final long until;
  private final long timeout;
  private final TaskContext task;
  private final RecordRow row;
  private boolean ready = false;
  private boolean plain = true;
  private boolean closed = false;
  private long count = 0;
  private List<ConsumerRecord<byte[], byte[]>> polled = List.of();

  /** The next of these. */
  private int at = 0;

  /** The offset of the next record to emit. */
  private long next;

  /** The consumer, and the offset from which it will fetch. */
  private InternalKafkaConsumer consumer;

  private long position = UNKNOWN;

  TopicReader(KafkaBatchInputPartition stretch, TaskContext task) {
    this.task = task;
    partition = stretch.offsetRange().topicPartition();
    next = stretch.offsetRange().fromOffset();
    until = stretch.offsetRange().untilOffset();
    timeout = stretch.pollTimeoutMs();
    row = new RecordRow(partition.topic());
    spark = KafkaDataConsumer.acquire(partition, stretch.executorKafkaParams());
    consumer = spark.getOrRetrieveConsumer();
    Rest rest = RESTS.remove(consumer);
    if (rest != null && rest.next == next) {
      polled = rest.polled;
      at = rest.at;
      position = rest.position;
    }
  }

  @Override
  public boolean hasNext() {
    while (!ready && next < until) {
      if (at < polled.size()) {
        ConsumerRecord<byte[], byte[]> record = polled.get(at);
        if (record.offset() < until) {
          take(record);
          at++;
        } else {
          next = until;
        }
      } else if (next < position) {
        next = position;
      } else if (plain) {
        plain = uninterrupted();
      } else {
        ConsumerRecord<byte[], byte[]> record = spark.get(next, until, timeout, true);
        if (record != null) take(record);
        else next = until;
      }
    }
    if (!ready) close();
    return ready;
  }

  private void take(ConsumerRecord<byte[], byte[]> record) {
    row.of(record);
    next = record.offset() + 1;
    count++;
    ready = true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) throw new NoSuchElementException();
    ready = false;
    return row;
  }

  /** The number of records emitted. */
  long count() {
    return count;
  }

  /** Kafka's consumer must not be interrupted: it may hang (KAFKA-1894). */
  private boolean uninterrupted() {
    task.killTaskIfInterrupted();
    if (!(Thread.currentThread() instanceof UninterruptibleThread thread)) return poll();
    return thread.runUninterruptibly(this::poll);
  }

  /** Whether it made progress. If not, the consumer's position is unknown. */
  private boolean poll() {
    InternalKafkaConsumer ours = consumer;
    long known = position;
    polled = List.of();
    at = 0;
    position = UNKNOWN;
    consumer = spark.getOrRetrieveConsumer();
    try {
      @SuppressWarnings("unchecked")
      KafkaConsumer<byte[], byte[]> kafka =
          (KafkaConsumer<byte[], byte[]>) CONSUMER.invoke(consumer);
      if (consumer != ours || known != next || kafka.position(partition) != next)
        kafka.seek(partition, next);
      List<ConsumerRecord<byte[], byte[]>> records = kafka.poll(A_WHILE).records(partition);
      long reached = kafka.position(partition);
      if (reached <= next) return false;
      polled = records;
      position = reached;
      return true;
    } catch (OffsetOutOfRangeException e) {
      return false;
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** At the end of the range, or when the task ends before that. */
  void close() {
    if (closed) return;
    closed = true;
    if (position != UNKNOWN)
      RESTS.put(
          consumer,
          new Rest(at < polled.size() ? polled : List.of(), at, Math.min(next, until), position));
    spark.release();
  }

  private static Method consumerOf() {
    try {
      Method method = InternalKafkaConsumer.class.getDeclaredMethod("consumer");
      method.setAccessible(true);
      return method;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(
          "another version of Spark's Kafka source than Headrace is made for", e);
    }
  }
}
