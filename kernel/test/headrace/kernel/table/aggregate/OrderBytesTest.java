package headrace.kernel.table.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.table.Chance;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.math.Ordering;

/** The order of the bytes is Spark's order of the values. */
class OrderBytesTest {
  private static final DataType[] FLAT = {
    DataTypes.BooleanType,
    DataTypes.ByteType,
    DataTypes.ShortType,
    DataTypes.IntegerType,
    DataTypes.LongType,
    DataTypes.FloatType,
    DataTypes.DoubleType,
    DataTypes.DateType,
    DataTypes.TimestampType,
    DataTypes.TimestampNTZType,
    DataTypes.StringType,
    DataTypes.BinaryType,
    DataTypes.createDayTimeIntervalType(),
    DataTypes.createYearMonthIntervalType(),
    DataTypes.createDecimalType(5, 2),
    DataTypes.createDecimalType(18, 0),
    DataTypes.createDecimalType(19, 19),
    DataTypes.createDecimalType(38, 0),
    DataTypes.createDecimalType(38, 38)
  };

  private static Object value(DataType type, Random chance) {
    if (type instanceof BooleanType) return chance.nextBoolean();
    if (type instanceof ByteType) return (byte) chance.nextInt(256);
    if (type instanceof ShortType) {
      return Chance.one(
          chance, (short) 0, Short.MIN_VALUE, Short.MAX_VALUE, (short) chance.nextInt());
    }
    if (type instanceof IntegerType
        || type instanceof DateType
        || type instanceof YearMonthIntervalType) {
      return Chance.one(
          chance,
          0,
          1,
          -1,
          Integer.MIN_VALUE,
          Integer.MAX_VALUE,
          chance.nextInt(),
          chance.nextInt(300));
    }
    if (type instanceof FloatType) {
      return Chance.one(
          chance,
          0f,
          -0f,
          Float.NaN,
          -Float.MIN_VALUE,
          Float.MAX_VALUE,
          Float.NEGATIVE_INFINITY,
          Float.POSITIVE_INFINITY,
          Float.intBitsToFloat(chance.nextInt()),
          chance.nextFloat());
    }
    if (type instanceof DoubleType) {
      return Chance.one(
          chance,
          0.0,
          -0.0,
          Double.NaN,
          Double.MIN_VALUE,
          -Double.MAX_VALUE,
          Double.NEGATIVE_INFINITY,
          Double.POSITIVE_INFINITY,
          Double.longBitsToDouble(chance.nextLong()),
          chance.nextGaussian());
    }
    if (type instanceof DecimalType decimal) return decimal(decimal, chance);
    if (type instanceof StringType) {
      return UTF8String.fromString(
          text(chance, "", "\0", "a", "b", "aa", "ä", "\uFFFF", "\uD83D\uDE00"));
    }
    if (type instanceof BinaryType) {
      return text(chance, "\0", "\1", "\377", "\376", "").getBytes(StandardCharsets.ISO_8859_1);
    }
    if (type instanceof StructType struct) {
      Object[] fields = new Object[struct.size()];
      for (int i = 0; i < fields.length; i++)
        fields[i] = orNull(struct.apply(i).dataType(), chance);
      return new GenericInternalRow(fields);
    }
    if (type instanceof ArrayType array) {
      Object[] elements = new Object[chance.nextInt(4)];
      for (int i = 0; i < elements.length; i++) elements[i] = orNull(array.elementType(), chance);
      return new GenericArrayData(elements);
    }
    return Chance.one(
        chance,
        0L,
        1L,
        -1L,
        Long.MIN_VALUE,
        Long.MAX_VALUE,
        chance.nextLong(),
        (long) chance.nextInt());
  }

  private static Object orNull(DataType type, Random chance) {
    return chance.nextInt(4) == 0 ? null : value(type, chance);
  }

  /** Made of few pieces, so that one is often the beginning of another. */
  private static String text(Random chance, String... pieces) {
    StringBuilder text = new StringBuilder();
    for (int left = chance.nextInt(5); left > 0; left--) text.append(Chance.one(chance, pieces));
    return text.toString();
  }

  private static Decimal decimal(DecimalType type, Random chance) {
    BigInteger largest = BigInteger.TEN.pow(type.precision()).subtract(BigInteger.ONE);
    BigInteger any = new BigInteger(largest.bitLength(), chance).mod(largest);
    BigInteger small = any.shiftRight(chance.nextInt(120));
    BigInteger unscaled = Chance.one(chance, BigInteger.ZERO, BigInteger.ONE, largest, any, small);
    BigDecimal value =
        new BigDecimal(chance.nextBoolean() ? unscaled : unscaled.negate(), type.scale());
    return Decimal.apply(
        new scala.math.BigDecimal(value, java.math.MathContext.UNLIMITED),
        type.precision(),
        type.scale());
  }

  private static DataType nested(Random chance, int depth) {
    if (depth == 0 || chance.nextInt(3) == 0) return Chance.one(chance, FLAT);
    if (chance.nextBoolean()) return DataTypes.createArrayType(nested(chance, depth - 1));
    StructType struct = new StructType();
    for (int left = chance.nextInt(4); left > 0; left--)
      struct = struct.add("f" + left, nested(chance, depth - 1));
    return struct;
  }

  /** As the kernel has them: out of an UnsafeRow. */
  private static List<Object> unsafe(DataType type, List<Object> values) {
    UnsafeProjection projection = UnsafeProjection.create(new DataType[] {type});
    return values.stream()
        .map(
            value ->
                projection.apply(new GenericInternalRow(new Object[] {value})).copy().get(0, type))
        .toList();
  }

  private static void check(DataType type, Random chance, int count) {
    assertTrue(OrderBytes.takes(type), type.simpleString());
    List<Object> values = new ArrayList<>();
    for (int left = count; left > 0; left--) values.add(value(type, chance));
    values = unsafe(type, values);
    Ordering<Object> ordering = TypeUtils$.MODULE$.getInterpretedOrdering(type);
    List<byte[]> bytes = values.stream().map(value -> OrderBytes.of(value, type)).toList();
    List<byte[]> reversed =
        values.stream().map(value -> OrderBytes.reversed(OrderBytes.of(value, type))).toList();
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < count; j++) {
        int expected = Integer.signum(ordering.compare(values.get(i), values.get(j)));
        String what = type.simpleString() + ": " + values.get(i) + " and " + values.get(j);
        assertEquals(
            expected, Integer.signum(Arrays.compareUnsigned(bytes.get(i), bytes.get(j))), what);
        assertEquals(
            -expected,
            Integer.signum(Arrays.compareUnsigned(reversed.get(i), reversed.get(j))),
            what);
        // So that what follows, in a struct or an array, does not change the order, and zeros
        // behind it neither.
        if (expected != 0)
          assertFalse(
              begins(bytes.get(i), bytes.get(j)), what + ": one is the beginning of the other");
      }
    }
  }

  private static boolean begins(byte[] one, byte[] other) {
    return one.length <= other.length && Arrays.equals(one, 0, one.length, other, 0, one.length);
  }

  @Test
  void everyFlatType() {
    for (DataType type : FLAT) check(type, new Random(7), 90);
  }

  @Test
  void structsAndArraysOfThem() {
    Chance.times(40, chance -> check(nested(chance, 3), chance, 25));
  }

  @Test
  void textsThatBeginAlike() {
    List<String> texts =
        List.of(
            "",
            "\0",
            "\0\0",
            "\0\1",
            "\1",
            "a",
            "a\0",
            "a\0\0",
            "a\0a",
            "a\1",
            "aa",
            "b",
            "ä",
            "\uFFFF",
            "\uD83D\uDE00");
    byte[] before = {};
    for (String text : texts) {
      byte[] bytes = OrderBytes.of(UTF8String.fromString(text), DataTypes.StringType);
      assertTrue(Arrays.compareUnsigned(before, bytes) < 0, text);
      before = bytes;
    }
  }

  @Test
  void bothZerosAreOneAndSoAreAllThatAreNotNumbers() {
    byte[] nan = OrderBytes.of(Double.NaN, DataTypes.DoubleType);
    assertEquals(
        0,
        Arrays.compare(
            OrderBytes.of(0.0, DataTypes.DoubleType), OrderBytes.of(-0.0, DataTypes.DoubleType)));
    assertEquals(
        0,
        Arrays.compare(
            OrderBytes.of(0f, DataTypes.FloatType), OrderBytes.of(-0f, DataTypes.FloatType)));
    assertEquals(
        0,
        Arrays.compare(
            nan,
            OrderBytes.of(Double.longBitsToDouble(0xFFF8000000000001L), DataTypes.DoubleType)));
    assertTrue(
        Arrays.compareUnsigned(OrderBytes.of(Double.POSITIVE_INFINITY, DataTypes.DoubleType), nan)
            < 0);
  }

  @Test
  void whatHasNoOrderOfBytesIsNotTaken() {
    DataType map = DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType);
    DataType collated = StringType.apply("UTF8_LCASE");
    for (DataType type :
        List.of(map, collated, DataTypes.CalendarIntervalType, DataTypes.VariantType)) {
      assertFalse(OrderBytes.takes(type));
      assertFalse(OrderBytes.takes(DataTypes.createArrayType(type)));
      assertFalse(OrderBytes.takes(new StructType().add("a", DataTypes.LongType).add("b", type)));
    }
    assertThrows(
        IllegalArgumentException.class, () -> OrderBytes.of(new Object(), DataTypes.NullType));
  }

  @Test
  void timesAreInOrder() {
    Chance.times(
        50,
        chance -> {
          long one = (Long) value(DataTypes.LongType, chance);
          long other = (Long) value(DataTypes.LongType, chance);
          assertEquals(
              Long.compare(one, other),
              Integer.signum(Arrays.compareUnsigned(OrderBytes.of(one), OrderBytes.of(other))));
        });
  }
}
