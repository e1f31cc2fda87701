package headrace.kernel.table.aggregate;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Values as bytes whose order is that of the values: as Spark orders them, null first, NaN last.
 */
final class OrderBytes {
  private OrderBytes() {}

  static boolean takes(DataType type) {
    if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) if (!takes(field.dataType())) return false;
      return true;
    }
    if (type instanceof ArrayType array) return takes(array.elementType());
    return type instanceof BooleanType
        || type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof FloatType
        || type instanceof DoubleType
        || type instanceof DecimalType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof BinaryType
        || type instanceof DayTimeIntervalType
        || type instanceof YearMonthIntervalType
        || (type instanceof StringType string && string.supportsBinaryOrdering());
  }

  static byte[] of(Object value, DataType type) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(16);
    write(value, type, out);
    return out.toByteArray();
  }

  static byte[] of(long value) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(8);
    number(value, 8, out);
    return out.toByteArray();
  }

  private static void write(Object value, DataType type, ByteArrayOutputStream out) {
    if (type instanceof BooleanType) out.write((Boolean) value ? 1 : 0);
    else if (type instanceof ByteType) number((Byte) value, 1, out);
    else if (type instanceof ShortType) number((Short) value, 2, out);
    else if (value instanceof Integer number) number(number, 4, out);
    else if (value instanceof Long number) number(number, 8, out);
    else if (type instanceof FloatType) real((Float) value, out);
    else if (type instanceof DoubleType) real((Double) value, out);
    else if (type instanceof DecimalType) decimal((Decimal) value, out);
    else if (type instanceof StringType) text(((UTF8String) value).getBytes(), out);
    else if (type instanceof BinaryType) text((byte[]) value, out);
    else if (type instanceof StructType struct) struct((InternalRow) value, struct, out);
    else if (type instanceof ArrayType array) array((ArrayData) value, array.elementType(), out);
    else throw new IllegalArgumentException("no order for " + type);
  }

  /** Two's complement with the sign turned over, the highest byte first. */
  private static void number(long value, int bytes, ByteArrayOutputStream out) {
    long turned = value ^ (1L << (bytes * 8 - 1));
    for (int i = bytes - 1; i >= 0; i--) out.write((int) (turned >>> (i * 8)));
  }

  private static void real(double value, ByteArrayOutputStream out) {
    long bits = Double.doubleToLongBits(value == 0.0 ? 0.0 : value);
    number(bits < 0 ? bits ^ Long.MAX_VALUE : bits, 8, out);
  }

  private static void decimal(Decimal value, ByteArrayOutputStream out) {
    BigInteger unscaled =
        value.toJavaBigDecimal().unscaledValue().add(BigInteger.ONE.shiftLeft(135));
    byte[] bytes = unscaled.toByteArray();
    for (int i = bytes.length; i < 18; i++) out.write(0);
    out.writeBytes(bytes);
  }

  /** Of any length: a zero is marked, so that two zeros can be the end. */
  private static void text(byte[] value, ByteArrayOutputStream out) {
    for (byte each : value) {
      out.write(each);
      if (each == 0) out.write(0xFF);
    }
    out.write(0);
    out.write(0);
  }

  private static void struct(InternalRow row, StructType type, ByteArrayOutputStream out) {
    for (int i = 0; i < type.size(); i++) {
      DataType field = type.apply(i).dataType();
      out.write(row.isNullAt(i) ? 0 : 1);
      if (!row.isNullAt(i)) write(row.get(i, field), field, out);
    }
  }

  private static void array(ArrayData values, DataType type, ByteArrayOutputStream out) {
    for (int i = 0; i < values.numElements(); i++) {
      out.write(values.isNullAt(i) ? 1 : 2);
      if (!values.isNullAt(i)) write(values.get(i, type), type, out);
    }
    out.write(0);
  }

  /** Values are found by their bytes, so numbers that are equal have one form. */
  static Object normal(Object value) {
    if (value instanceof Double number)
      return number == 0.0 ? (Object) 0.0 : Double.isNaN(number) ? (Object) Double.NaN : number;
    if (value instanceof Float number)
      return number == 0.0f ? (Object) 0.0f : Float.isNaN(number) ? (Object) Float.NaN : number;
    return value;
  }

  /** The same bytes in the opposite order. */
  static byte[] reversed(byte[] bytes) {
    for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) ~bytes[i];
    return bytes;
  }
}
