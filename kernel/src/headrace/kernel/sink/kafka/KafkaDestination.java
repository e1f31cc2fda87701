package headrace.kernel.sink.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.Confirmed;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.DeadLetter;
import headrace.kernel.sink.DeadLetters;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.MarkException;
import headrace.kernel.sink.Options;
import headrace.kernel.sink.SinkException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Topics. A batch is one transaction: its rows, its dead letters, and its mark in a compacted topic
 * of the application.
 *
 * <p>Every batch has a producer of its own. Its start fences all earlier ones, whatever they were
 * about to send, and no producer is used after an unknown outcome: after a failure the next run
 * reads the mark from the log. The next batch's producer starts while Spark is between batches.
 */
public final class KafkaDestination implements Destination {
  static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final ObjectMapper JSON = new ObjectMapper();

  final Settings settings;
  final DeadLetters deadLetters;
  private final int index;
  private final Map<String, Long> endOffsets = new HashMap<>();
  private CompletableFuture<KafkaProducer<byte[], byte[]>> next;

  /**
   * @param id the sink's name and the transactional id: one for each query of an application
   * @param client how to reach the broker
   * @param marks the topic of the marks, where the query's has the key id
   * @param deadLetterTopic the topic for dead letters; null for none
   * @param routes the topics of each of the query's outputs
   * @param limits how large a record of these topics may be
   */
  record Settings(
      String id,
      Map<String, String> client,
      String marks,
      String deadLetterTopic,
      List<List<String>> routes,
      Map<String, Integer> limits,
      String timeout) {}

  public KafkaDestination(Context context, Options options) {
    this.settings =
        new Settings(
            context.sink(),
            Map.copyOf(options.texts("client")),
            options.text("marks"),
            options.text("dead"),
            options.lists("routes"),
            Map.copyOf(options.numbers("limits")),
            options.text("timeout"));
    this.index = context.index();
    this.deadLetters = options.object("deadLetters", DeadLetters.class);
  }

  @Override
  public String name() {
    return "topics";
  }

  @Override
  public String id() {
    return name();
  }

  @Override
  public String place() {
    return "the broker " + settings.client.get("bootstrap.servers");
  }

  @Override
  public Mark begin() {
    next = CompletableFuture.completedFuture(producer());
    return mark();
  }

  /**
   * Each topic can lose its log independently: the mark may exist while the tail of another topic
   * is lost.
   */
  @Override
  public void check(Mark mark, Confirmed.Last last) {
    endOffsets.clear();
    try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
      for (String topic : topics()) {
        Map<TopicPartition, Long> known = new HashMap<>();
        last.ends()
            .forEach(
                (place, end) -> {
                  int slash = place.lastIndexOf('/');
                  if (topic.equals(place.substring(0, slash)))
                    known.put(
                        new TopicPartition(topic, Integer.parseInt(place.substring(slash + 1))),
                        end);
                });
        if (!known.isEmpty()) check(consumer, topic, known, mark);
      }
    }
  }

  private void check(
      KafkaConsumer<byte[], byte[]> consumer,
      String topic,
      Map<TopicPartition, Long> known,
      Mark mark) {
    int partitions = consumer.partitionsFor(topic, PATIENCE).size();
    List<TopicPartition> there =
        known.keySet().stream().filter(place -> place.partition() < partitions).toList();
    Map<TopicPartition, Long> found = consumer.endOffsets(there, PATIENCE);
    known.forEach(
        (place, end) -> {
          long now = found.getOrDefault(place, 0L);
          String what =
              "partition "
                  + place.partition()
                  + " of the topic "
                  + topic
                  + " ends at offset "
                  + now
                  + " instead of "
                  + end;
          if (now < end) throw MarkException.cut(what, mark);
          endOffsets.put(place(place), end);
        });
  }

  private Set<String> topics() {
    Set<String> topics = new HashSet<>();
    settings.routes.forEach(topics::addAll);
    if (settings.deadLetterTopic != null) topics.add(settings.deadLetterTopic);
    return topics;
  }

  private static String place(TopicPartition place) {
    return place.topic() + "/" + place.partition();
  }

  @Override
  public Map<String, Long> endOffsets() {
    return Map.copyOf(endOffsets);
  }

  /** Notes the ends of a topic's partitions, 0 for those without new records. */
  void confirmed(String topic, long[] sent) {
    note(endOffsets, topic, sent);
  }

  private void note(Map<String, Long> ends, String topic, long[] sent) {
    if (topic.equals(settings.marks)) return;
    for (int i = 0; i < sent.length; i++)
      if (sent[i] > 0) ends.put(place(new TopicPartition(topic, i)), sent[i]);
  }

  /**
   * Where the topics end once what was sent is committed: {@code {"topic/0": 17}}, the offset after
   * the last record. Partitions to which this run has written nothing yet may be missing.
   */
  byte[] ends(Map<String, long[]> sent) {
    Map<String, Long> ends = new TreeMap<>(endOffsets);
    sent.forEach((topic, offsets) -> note(ends, topic, offsets));
    try {
      return JSON.writeValueAsBytes(ends);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public BatchWrite open(Batch batch) {
    // This attempt reports again what an earlier one has reported.
    if (deadLetters != null) deadLetters.take();
    return batchWrite(batch);
  }

  /** Dead letters that can't be written now are reported again for the next time. */
  @Override
  public void writeDeadLetters(Batch batch) {
    List<DeadLetter> taken = deadLetters == null ? List.of() : deadLetters.take();
    if (taken.isEmpty()) return;
    try {
      if (next == null) begin();
      batchWrite(batch).commitDeadLetters(taken);
    } catch (RuntimeException e) {
      taken.forEach(deadLetters::add);
      next = null;
      throw e;
    }
  }

  private KafkaBatch batchWrite(Batch batch) {
    KafkaProducer<byte[], byte[]> producer;
    try {
      producer = next.join();
    } catch (CompletionException e) {
      throw new SinkException(
          "no transaction can begin: " + e.getCause().getMessage(), e.getCause());
    }
    return new KafkaBatch(this, batch, producer, new KafkaTaskWriters(settings, index));
  }

  /** The batch is committed: starts the next producer. */
  void committed(KafkaProducer<byte[], byte[]> producer) {
    producer.close(Duration.ZERO);
    next = CompletableFuture.supplyAsync(this::producer);
  }

  /** The batch has nothing for topics, so no transaction was begun. */
  void unused(KafkaProducer<byte[], byte[]> producer) {
    next = CompletableFuture.completedFuture(producer);
  }

  /**
   * When this returns, open transactions of earlier producers of this id are aborted, or committed
   * if their commit had begun.
   */
  private KafkaProducer<byte[], byte[]> producer() {
    Map<String, Object> config = new HashMap<>(settings.client);
    config.put("transactional.id", settings.id);
    config.put("transaction.timeout.ms", settings.timeout);
    config.put("linger.ms", "5");
    // A batch of records may not exceed the limit of one record: otherwise the broker refuses it,
    // and the producer sends it again in parts.
    int least =
        settings.limits.values().stream().mapToInt(limit -> limit).min().orElse(Integer.MAX_VALUE);
    config.put("batch.size", Integer.toString(Math.min(256 << 10, least)));
    config.put("buffer.memory", Long.toString(128L << 20));
    config.put("max.request.size", Integer.toString(100 << 20));
    KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    try {
      producer.initTransactions();
    } catch (RuntimeException e) {
      producer.close(Duration.ZERO);
      throw e;
    }
    return producer;
  }

  private Mark mark() {
    TopicPartition place = new TopicPartition(settings.marks, 0);
    Mark found = null;
    try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_committed")) {
      consumer.assign(List.of(place));
      long end = consumer.endOffsets(List.of(place), PATIENCE).get(place);
      consumer.seekToBeginning(List.of(place));
      while (consumer.position(place, PATIENCE) < end) {
        for (ConsumerRecord<byte[], byte[]> record :
            consumer.poll(Duration.ofMillis(100)).records(place)) {
          if (settings.id.equals(Batch.text(record.key())))
            found = record.value() == null ? null : Mark.parse(Batch.text(record.value()));
        }
      }
    }
    return found;
  }

  KafkaConsumer<byte[], byte[]> consumer(String isolation) {
    Map<String, Object> config = new HashMap<>(settings.client);
    config.put("isolation.level", isolation);
    config.put("enable.auto.commit", "false");
    config.put("auto.offset.reset", "earliest");
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  @Override
  public void forget() {
    try (KafkaProducer<byte[], byte[]> producer = producer()) {
      producer.beginTransaction();
      producer.send(new ProducerRecord<>(settings.marks, 0, Batch.utf8(settings.id), null));
      producer.commitTransaction();
    }
  }

  @Override
  public void empty() {}

  @Override
  public void close() {
    if (next != null) next.thenAccept(producer -> producer.close(Duration.ZERO));
  }
}
