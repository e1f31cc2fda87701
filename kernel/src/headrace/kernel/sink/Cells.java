package headrace.kernel.sink;

import java.io.StringWriter;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.*;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Cells as text, written as in the JSON of a topic's records, but without the quotes of strings and
 * times.
 */
public final class Cells {
  private static final long DAY = 86_400_000_000L;
  private static final int FIRST_DAY = -719_162, LAST_DAY = 2_932_896; // years 1 to 9999

  private Cells() {}

  /** One column's text; the cell is not null. Not for several threads. */
  public interface Text {
    String of(InternalRow row, int column);
  }

  /** Null for a type that has no text here. */
  public static Text text(DataType type) {
    if (type instanceof StringType) return (row, i) -> row.getUTF8String(i).toString();
    if (type instanceof BooleanType) return (row, i) -> Boolean.toString(row.getBoolean(i));
    if (type instanceof ByteType) return (row, i) -> Integer.toString(row.getByte(i));
    if (type instanceof ShortType) return (row, i) -> Integer.toString(row.getShort(i));
    if (type instanceof IntegerType) return (row, i) -> Integer.toString(row.getInt(i));
    if (type instanceof LongType) return (row, i) -> Long.toString(row.getLong(i));
    if (type instanceof FloatType) return (row, i) -> Float.toString(row.getFloat(i));
    if (type instanceof DoubleType) return (row, i) -> Double.toString(row.getDouble(i));
    if (type instanceof DecimalType d) {
      return (row, i) ->
          row.getDecimal(i, d.precision(), d.scale()).toJavaBigDecimal().toPlainString();
    }
    if (type instanceof DateType)
      return (row, i) -> date(new StringBuilder(10), row.getInt(i)).toString();
    if (type instanceof TimestampType)
      return (row, i) -> time(row.getLong(i)).append('Z').toString();
    if (type instanceof TimestampNTZType) return (row, i) -> time(row.getLong(i)).toString();
    return nested(type) ? json(type) : null;
  }

  public static boolean nested(DataType type) {
    return type instanceof ArrayType
        || type instanceof MapType
        || type instanceof StructType
        || type instanceof VariantType;
  }

  private static Text json(DataType type) {
    if (type instanceof VariantType) return (row, i) -> row.getVariant(i).toJson(ZoneOffset.UTC);
    Map<String, String> written =
        Map.of(
            "ignoreNullFields", "false",
            "timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
            "timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS");
    var options =
        scala.collection.immutable.Map$.MODULE$.<String, String>from(
            CollectionConverters.asScala(written));
    StringWriter out = new StringWriter();
    JacksonGenerator generator =
        new JacksonGenerator(type, out, new JSONOptions(options, "UTC", ""));
    return (row, i) -> {
      out.getBuffer().setLength(0);
      if (type instanceof ArrayType) generator.write(row.getArray(i));
      else if (type instanceof MapType) generator.write(row.getMap(i));
      else generator.write(row.getStruct(i, ((StructType) type).length()));
      generator.flush();
      return out.toString();
    };
  }

  /** Without a zone. */
  public static StringBuilder time(long micros) {
    StringBuilder out = date(new StringBuilder(32), Math.toIntExact(Math.floorDiv(micros, DAY)));
    long rest = Math.floorMod(micros, DAY);
    int seconds = (int) (rest / 1_000_000);
    digits(out.append('T'), seconds / 3600, 2);
    digits(out.append(':'), seconds / 60 % 60, 2);
    digits(out.append(':'), seconds % 60, 2);
    return digits(out.append('.'), (int) (rest % 1_000_000), 6);
  }

  public static StringBuilder date(StringBuilder out, int day) {
    LocalDate date = LocalDate.ofEpochDay(day);
    if (!common(day)) return out.append(date);
    digits(out, date.getYear(), 4);
    digits(out.append('-'), date.getMonthValue(), 2);
    return digits(out.append('-'), date.getDayOfMonth(), 2);
  }

  public static boolean common(int day) {
    return FIRST_DAY <= day && day <= LAST_DAY;
  }

  private static StringBuilder digits(StringBuilder out, int number, int width) {
    for (int tens = (int) Math.pow(10, width - 1); tens > 1 && number < tens; tens /= 10)
      out.append('0');
    return out.append(number);
  }
}
