package headrace.kernel.sink.kafka;

import headrace.kernel.file.FileRecords;
import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.DeadLetter;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.Point;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Rows;
import headrace.kernel.sink.SinkException;
import headrace.kernel.sink.TaskWriter;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskFailureListener;

/**
 * A batch's transaction, shared by the tasks of this process. What a task has sent can't be undone:
 * if one fails, all do.
 */
final class KafkaBatch implements BatchWrite {
  /**
   * What a record needs besides its key and its value, at most; and what a request of one record
   * does.
   */
  private static final int OVERHEAD = 128;

  /** What a header needs besides its name and its value, and a character of its name, at most. */
  private static final int HEADER = 10, UTF8 = 3;

  /**
   * The header of a mark with the offsets at which the batch ends: see {@link
   * KafkaDestination#ends}.
   */
  private static final String ENDS = "headrace.ends";

  /** Good records between two bad ones are read and skipped, unless there are this many. */
  private static final int FAR = 10_000;

  private final KafkaDestination destination;
  private final Batch batch;
  private final KafkaProducer<byte[], byte[]> producer;
  private final KafkaTaskWriters writers;
  private final Set<Integer> tasks = new HashSet<>();
  private final Map<DeadLetter, ProducerRecord<byte[], byte[]>> oversized = new LinkedHashMap<>();

  /** The offset after the last record of each partition, by topic; 0 for none. */
  private final Map<String, long[]> sent = new HashMap<>();

  private volatile boolean begun = false;
  private volatile boolean givenUp = false;
  private volatile Throwable failure;

  KafkaBatch(
      KafkaDestination destination,
      Batch batch,
      KafkaProducer<byte[], byte[]> producer,
      KafkaTaskWriters writers) {
    this.destination = destination;
    this.batch = batch;
    this.producer = producer;
    this.writers = writers;
  }

  @Override
  public TaskWriter.Factory taskWriters() {
    return writers;
  }

  synchronized TaskWriter open(int partition) {
    check();
    if (!tasks.add(partition))
      throw new SinkException(
          "a task ran again after it had sent rows, and a topic can't unsend them");
    // Spark's next attempt of the task would hide why the first one failed.
    TaskContext task = TaskContext.get();
    if (task != null)
      task.addTaskFailureListener((TaskFailureListener) (context, error) -> fail(error));
    return new TaskWriter() {
      @Override
      public void write(InternalRow row) {
        send(Rows.route(row), Rows.key(row), Rows.value(row), Rows.headers(row));
      }

      @Override
      public Serializable finish() {
        return null;
      }

      @Override
      public void abort() {
        givenUp = true;
      }
    };
  }

  private void send(int route, byte[] key, byte[] value, Header[] headers) {
    int size = OVERHEAD + (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    for (Header header : headers)
      size += HEADER + header.key().length() * UTF8 + header.value().length;
    for (String topic : destination.settings.routes().get(route)) {
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(topic, null, key, value, Arrays.asList(headers));
      if (size > destination.settings.limits().getOrDefault(topic, Integer.MAX_VALUE))
        tooLarge(record, size);
      else send(record);
    }
  }

  private void send(ProducerRecord<byte[], byte[]> record) {
    check();
    begin();
    producer.send(
        record,
        (place, error) -> {
          if (error == null) sent(place);
          else fail(error);
        });
  }

  /** Called by the producer's one thread, and read after a flush, which waits for it. */
  private void sent(RecordMetadata place) {
    int partition = place.partition();
    long[] offsets = sent.get(place.topic());
    if (offsets == null || offsets.length <= partition) {
      offsets = offsets == null ? new long[partition + 1] : Arrays.copyOf(offsets, partition + 1);
      sent.put(place.topic(), offsets);
    }
    offsets[partition] = Math.max(offsets[partition], place.offset() + 1);
  }

  private void begin() {
    if (begun) return;
    synchronized (this) {
      if (begun) return;
      producer.beginTransaction();
      Point.FIRST_ROW.reached(batch.number());
      begun = true;
    }
  }

  private synchronized void tooLarge(ProducerRecord<byte[], byte[]> record, int size) {
    String topic = record.topic();
    int limit = destination.settings.limits().get(topic);
    String cause =
        "a row of "
            + size
            + " bytes is too large for the topic "
            + topic
            + ", which takes "
            + limit;
    if (destination.deadLetters == null)
      throw new RefusedException(cause + ": make rows smaller, or raise its max.message.bytes");
    // It has no place in a topic: it is known by its batch, which is written once, and its number
    // there.
    long place = batch.number() << 20 | oversized.size();
    oversized.put(new DeadLetter(topic, -1, place, "to " + topic, cause), record);
  }

  @Override
  public boolean commit(List<Serializable> results, Mark mark) {
    for (Serializable result : results) KafkaTaskWriters.unpack(result, this::send);
    if (destination.deadLetters != null) writeDeadLetters(destination.deadLetters.take());
    if (!begun) {
      destination.unused(producer);
      return false;
    }
    Point.ROWS_SENT.reached(batch.number());
    // The mark says where the batch ends in each partition, because readers can't see where a
    // transaction ends.
    producer.flush();
    check();
    send(
        new ProducerRecord<>(
            destination.settings.marks(),
            0,
            Batch.utf8(destination.settings.id()),
            Batch.utf8(mark.text()),
            List.of(new RecordHeader(ENDS, destination.ends(sent)))));
    Point.MARK_SENT.reached(batch.number());
    producer.flush();
    check();
    Point.FLUSHED.reached(batch.number());
    producer.commitTransaction();
    Point.ANSWERED.reached(batch.number());
    sent.forEach(destination::confirmed);
    destination.committed(producer);
    return true;
  }

  /**
   * Commits only the dead letters, without a mark, of a batch whose rows another sink has written.
   */
  void commitDeadLetters(List<DeadLetter> deadLetters) {
    writeDeadLetters(deadLetters);
    producer.flush();
    check();
    producer.commitTransaction();
    destination.committed(producer);
  }

  /**
   * The dead letters of the batch, with the bytes and headers of the records as they are in the
   * log.
   */
  private void writeDeadLetters(List<DeadLetter> deadLetters) {
    destination.deadLetters.note(batch.number(), oversized.size());
    Map<TopicPartition, TreeMap<Long, DeadLetter>> places = new HashMap<>();
    for (DeadLetter deadLetter : deadLetters) {
      places
          .computeIfAbsent(
              new TopicPartition(deadLetter.topic(), deadLetter.partition()),
              place -> new TreeMap<>())
          .put(deadLetter.offset(), deadLetter);
    }
    places
        .entrySet()
        .removeIf(
            entry ->
                FileRecords.reads(entry.getKey().topic())
                    && writeDeadLetters(entry.getKey().topic(), entry.getValue()));
    if (!places.isEmpty()) {
      try (KafkaConsumer<byte[], byte[]> consumer = destination.consumer("read_uncommitted")) {
        places.forEach((place, there) -> writeDeadLetters(consumer, place, there));
      }
    }
    oversized.forEach(
        (deadLetter, record) ->
            writeDeadLetters(deadLetter, record.key(), record.value(), record.headers()));
  }

  private boolean writeDeadLetters(String file, TreeMap<Long, DeadLetter> deadLetters) {
    Map<Long, byte[]> records = FileRecords.fetch(file, deadLetters.keySet());
    deadLetters.forEach(
        (offset, deadLetter) -> writeDeadLetters(deadLetter, null, records.get(offset), null));
    return true;
  }

  private void writeDeadLetters(
      KafkaConsumer<byte[], byte[]> consumer,
      TopicPartition place,
      TreeMap<Long, DeadLetter> deadLetters) {
    consumer.assign(List.of(place));
    long last = deadLetters.lastKey();
    consumer.seek(place, deadLetters.firstKey());
    while (!deadLetters.isEmpty() && consumer.position(place, KafkaDestination.PATIENCE) <= last) {
      if (deadLetters.firstKey() - consumer.position(place) > FAR)
        consumer.seek(place, deadLetters.firstKey());
      for (ConsumerRecord<byte[], byte[]> record :
          consumer.poll(Duration.ofMillis(100)).records(place)) {
        DeadLetter deadLetter = deadLetters.remove(record.offset());
        if (deadLetter != null)
          writeDeadLetters(deadLetter, record.key(), record.value(), record.headers());
      }
      // Records that the log has deleted in the meantime are written without their bytes.
      for (var gone = deadLetters.headMap(consumer.position(place)); !gone.isEmpty(); )
        writeDeadLetters(gone.remove(gone.firstKey()), null, null, null);
    }
  }

  private void writeDeadLetters(
      DeadLetter deadLetter, byte[] key, byte[] value, Iterable<Header> headers) {
    String id = destination.settings.id() + "/" + deadLetter.id();
    ProducerRecord<byte[], byte[]> dead =
        new ProducerRecord<>(
            destination.settings.deadLetterTopic(),
            0,
            Batch.utf8(id),
            value == null ? new byte[0] : value);
    // The record's own headers have a prefix, so that none of them passes for a fact.
    if (headers != null)
      headers.forEach(header -> dead.headers().add("header." + header.key(), header.value()));
    Map<String, String> facts = new TreeMap<>();
    facts.put("topic", deadLetter.topic());
    facts.put("partition", Integer.toString(deadLetter.partition()));
    facts.put("offset", Long.toString(deadLetter.offset()));
    facts.put("operator", deadLetter.operator());
    facts.put("cause", deadLetter.cause());
    if (value == null) facts.put("value", "null");
    facts.forEach(
        (name, text) ->
            dead.headers().add("headrace." + name, text.getBytes(StandardCharsets.UTF_8)));
    if (key != null) dead.headers().add("headrace.key", key);
    send(dead);
  }

  private void fail(Throwable error) {
    if (failure == null) failure = error;
  }

  private void check() {
    if (failure != null)
      throw new SinkException("the batch can't be written: " + failure.getMessage(), failure);
    if (givenUp) throw new SinkException("the batch was given up");
  }

  @Override
  public void abort() {
    givenUp = true;
    try {
      // A query that is stopped interrupts this thread, and readers would wait for an open
      // transaction: join() continues.
      if (begun)
        CompletableFuture.runAsync(producer::abortTransaction)
            .orTimeout(5, TimeUnit.SECONDS)
            .join();
    } catch (CompletionException ignored) {
      // Without a broker that answers, the next run's producer does it, or the transaction's
      // timeout.
    }
    boolean interrupted = Thread.interrupted();
    producer.close(Duration.ZERO);
    if (interrupted) Thread.currentThread().interrupt();
  }
}
