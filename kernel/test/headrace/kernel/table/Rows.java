package headrace.kernel.table;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/** Spark's rows, of Java's values. A value that is a Rows is a struct. */
public final class Rows {
  /** How values become a row of some types. */
  private record Maker(List<Function1<Object, Object>> converters, UnsafeProjection projection) {
    static Maker of(List<DataType> types) {
      return new Maker(
          types.stream().map(CatalystTypeConverters::createToCatalystConverter).toList(),
          UnsafeProjection.create(types.toArray(DataType[]::new)));
    }
  }

  private static final Map<List<DataType>, Maker> MAKERS = new HashMap<>();

  private final DataType[] types;
  private final UnsafeRow row;

  private Rows(DataType[] types, Object[] values) {
    this.types = types;
    Maker maker = MAKERS.computeIfAbsent(Arrays.asList(types), Maker::of);
    Object[] converted = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      converted[i] =
          values[i] instanceof Rows struct ? struct.row : maker.converters.get(i).apply(values[i]);
    }
    // The projection uses its buffer again: so the copy.
    row = maker.projection.apply(new GenericInternalRow(converted)).copy();
  }

  public static Rows of(DataType[] types, Object... values) {
    return new Rows(types, values);
  }

  /** The types are those of the values; null is a string. */
  public static Rows of(Object... values) {
    return new Rows(Arrays.stream(values).map(Rows::type).toArray(DataType[]::new), values);
  }

  private static DataType type(Object value) {
    if (value instanceof Rows row) return row.type();
    if (value instanceof Integer) return DataTypes.IntegerType;
    if (value instanceof Long) return DataTypes.LongType;
    if (value instanceof Double) return DataTypes.DoubleType;
    if (value instanceof BigDecimal decimal)
      return DataTypes.createDecimalType(38, decimal.scale());
    return DataTypes.StringType;
  }

  StructType type() {
    StructType type = new StructType();
    for (int i = 0; i < types.length; i++) type = type.add("f" + i, types[i]);
    return type;
  }

  public byte[] bytes() {
    return row.getBytes();
  }

  public UnsafeRow row() {
    return row;
  }

  /** The values of a row, as Java's. */
  public static List<Object> values(byte[] bytes, DataType... types) {
    UnsafeRow row = new UnsafeRow(types.length);
    row.pointTo(bytes, bytes.length);
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++)
      values[i] = row.isNullAt(i) ? null : java(row.get(i, types[i]), types[i]);
    return Arrays.asList(values);
  }

  private static Object java(Object value, DataType type) {
    if (value instanceof Decimal decimal) return decimal.toJavaBigDecimal();
    Object converted = CatalystTypeConverters.convertToScala(value, type);
    return converted instanceof scala.collection.Seq<?> many
        ? scala.jdk.javaapi.CollectionConverters.asJava(many)
        : converted;
  }
}
