package headrace.kernel.source;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.kafka010.KafkaExceptions;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record as a row with the columns of Spark's Kafka source (except headers), without a copy. The
 * row is reused for each record.
 */
final class RecordRow extends GenericInternalRow {
  private static final int KEY = 0,
      VALUE = 1,
      TOPIC = 2,
      PARTITION = 3,
      OFFSET = 4,
      TIMESTAMP = 5,
      TIMESTAMP_TYPE = 6,
      COLUMNS = 7;

  private final UTF8String topic;
  private ConsumerRecord<byte[], byte[]> record;

  RecordRow(String topic) {
    super(COLUMNS);
    this.topic = UTF8String.fromString(topic);
  }

  void of(ConsumerRecord<byte[], byte[]> record) {
    this.record = record;
  }

  @Override
  public boolean isNullAt(int ordinal) {
    return switch (ordinal) {
      case KEY -> record.key() == null;
      case VALUE -> record.value() == null;
      default -> false;
    };
  }

  @Override
  public byte[] getBinary(int ordinal) {
    return ordinal == KEY ? record.key() : record.value();
  }

  @Override
  public UTF8String getUTF8String(int ordinal) {
    return topic;
  }

  @Override
  public int getInt(int ordinal) {
    return ordinal == PARTITION ? record.partition() : record.timestampType().id;
  }

  @Override
  public long getLong(int ordinal) {
    return ordinal == OFFSET ? record.offset() : micros();
  }

  /**
   * Throws Spark's error if a producer has set a timestamp out of Spark's range, such as one in
   * nanoseconds.
   */
  private long micros() {
    try {
      return Math.multiplyExact(record.timestamp(), 1000L);
    } catch (ArithmeticException e) {
      throw KafkaExceptions.kafkaMalformedRecordTimestamp(
          record.topic(), record.partition(), record.offset(), record.timestamp(), e);
    }
  }

  @Override
  public Object genericGet(int ordinal) {
    return switch (ordinal) {
      case KEY, VALUE -> getBinary(ordinal);
      case TOPIC -> topic;
      case PARTITION, TIMESTAMP_TYPE -> getInt(ordinal);
      case OFFSET, TIMESTAMP -> getLong(ordinal);
      default -> throw new IndexOutOfBoundsException(ordinal);
    };
  }

  @Override
  public GenericInternalRow copy() {
    GenericInternalRow copy = new GenericInternalRow(COLUMNS);
    for (int i = 0; i < COLUMNS; i++) copy.update(i, genericGet(i));
    return copy;
  }
}
