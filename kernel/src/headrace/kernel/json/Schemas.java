package headrace.kernel.json;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.types.*;

/** From Spark's types to readers. */
final class Schemas {
  private Schemas() {}

  /**
   * The readers of a struct's fields; refuses types that have no JSON form here, naming the field.
   */
  static StructReader struct(StructType type, String path) {
    StructField[] fields = type.fields();
    String[] names = new String[fields.length];
    Reader[] readers = new Reader[fields.length];
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < fields.length; i++) {
      names[i] = fields[i].name();
      String at = path.isEmpty() ? names[i] : path + "." + names[i];
      if (!seen.add(names[i]))
        throw new IllegalArgumentException("field " + at + " is in the schema twice");
      readers[i] = reader(fields[i].dataType(), at);
    }
    return new StructReader(names, readers);
  }

  private static Reader reader(DataType type, String path) {
    if (type instanceof StringType) return new TextReader(); // char and varchar too
    if (type instanceof LongType) return new WholeReader(64, "long");
    if (type instanceof IntegerType) return new WholeReader(32, "int");
    if (type instanceof ShortType) return new WholeReader(16, "short");
    if (type instanceof ByteType) return new WholeReader(8, "byte");
    if (type instanceof DoubleType) return new RealReader(true);
    if (type instanceof FloatType) return new RealReader(false);
    if (type instanceof BooleanType) return new BooleanReader();
    if (type instanceof DecimalType decimal)
      return new DecimalReader(decimal.precision(), decimal.scale());
    if (type instanceof DateType) return new TimeReader(TimeReader.Kind.DATE, 0);
    if (type instanceof TimestampType) return new TimeReader(TimeReader.Kind.TIMESTAMP, 6);
    if (type instanceof TimestampNTZType) return new TimeReader(TimeReader.Kind.TIMESTAMP_NTZ, 6);
    if (type instanceof TimeType time)
      return new TimeReader(TimeReader.Kind.TIME, time.precision());
    if (type instanceof DayTimeIntervalType || type instanceof YearMonthIntervalType)
      return new IntervalReader(type);
    if (type instanceof BinaryType) return new BinaryReader();
    if (type instanceof VariantType) return new VariantReader();
    if (type instanceof StructType struct) return struct(struct, path);
    if (type instanceof ArrayType array)
      return new ArrayReader(reader(array.elementType(), path + "[]"));
    if (type instanceof MapType map) {
      if (map.keyType() instanceof StringType)
        return new MapReader(reader(map.valueType(), path + "{}"));
      throw new IllegalArgumentException(
          "field " + path + ": JSON has no " + type.sql() + "; the keys of a map are strings");
    }
    throw new IllegalArgumentException("field " + path + ": no JSON form for type " + type.sql());
  }
}
