package headrace.kernel.log;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Where a row to be written has its {@code key, value, topic, partition, timestamp}; -1 where it
 * has none.
 */
record Columns(
    int key,
    boolean keyIsText,
    int value,
    boolean valueIsText,
    int topic,
    int partition,
    int timestamp,
    String defaultTopic)
    implements Serializable {
  private static final Set<String> NAMES =
      Set.of("key", "value", "topic", "partition", "timestamp");

  static Columns of(StructType schema, String defaultTopic) {
    List<String> names = Arrays.asList(schema.fieldNames());
    for (StructField field : schema.fields()) {
      if (!NAMES.contains(field.name()) || !fits(field.name(), field.dataType())) {
        throw new IllegalArgumentException(
            "headrace-memory cannot write column '"
                + field.name()
                + "' "
                + field.dataType().sql()
                + "; it takes key and value (binary or string), topic (string), partition (int),"
                + " timestamp");
      }
    }
    if (!names.contains("value"))
      throw new IllegalArgumentException("headrace-memory needs a column 'value', got " + names);
    if (!names.contains("topic") && defaultTopic == null) {
      throw new IllegalArgumentException(
          "headrace-memory needs the option 'topic' or a column 'topic'");
    }
    int key = names.indexOf("key");
    int value = names.indexOf("value");
    return new Columns(
        key,
        isText(schema, key),
        value,
        isText(schema, value),
        names.indexOf("topic"),
        names.indexOf("partition"),
        names.indexOf("timestamp"),
        defaultTopic);
  }

  Staged.Row row(InternalRow row) {
    String to =
        topic < 0 || row.isNullAt(topic) ? defaultTopic : row.getUTF8String(topic).toString();
    if (to == null)
      throw new IllegalArgumentException("a row without a topic, and no option 'topic'");
    return new Staged.Row(
        to,
        present(row, partition) ? (Integer) row.getInt(partition) : null,
        present(row, timestamp) ? (Long) row.getLong(timestamp) : null,
        bytes(row, key, keyIsText),
        bytes(row, value, valueIsText));
  }

  private static boolean fits(String name, DataType type) {
    return switch (name) {
      case "topic" -> type instanceof StringType;
      case "partition" -> type instanceof IntegerType;
      case "timestamp" -> type instanceof TimestampType;
      default -> type instanceof BinaryType || type instanceof StringType;
    };
  }

  private static boolean present(InternalRow row, int column) {
    return column >= 0 && !row.isNullAt(column);
  }

  private static boolean isText(StructType schema, int column) {
    return column >= 0 && schema.fields()[column].dataType() instanceof StringType;
  }

  private static byte[] bytes(InternalRow row, int column, boolean isText) {
    if (!present(row, column)) return null;
    return isText ? row.getUTF8String(column).getBytes() : row.getBinary(column);
  }
}
