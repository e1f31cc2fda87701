package headrace.kernel.table.aggregate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Rows;
import headrace.kernel.table.aggregate.Call.Kind;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.junit.jupiter.api.Test;

class SketchTest {
  private static final double[] PARTS = {0.0, 0.01, 0.25, 0.5, 0.9, 0.999, 1.0};

  private static Sketch sketch(DataType type, DataType result, double... parts) {
    return new Sketch(
        new Call(Kind.PERCENTILE, 0, new DataType[] {type}, -1, 0, false, result, parts));
  }

  private static Sketch sketch() {
    return sketch(
        DataTypes.DoubleType, DataTypes.createArrayType(DataTypes.DoubleType, false), PARTS);
  }

  private static void count(Sketch sketch, int by, Object... values) {
    for (Object value : values)
      sketch.change(Rows.of(new DataType[] {sketch.call.argument()}, value).row(), by, 0);
  }

  private static double value(Random chance) {
    return switch (chance.nextInt(12)) {
      case 0 ->
          Chance.one(
              chance, 0.0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY);
      case 1 ->
          Chance.one(
              chance,
              Double.MAX_VALUE,
              -Double.MAX_VALUE,
              Double.MIN_NORMAL,
              Double.MIN_VALUE,
              1e-300,
              -1e300);
      case 2, 3 -> chance.nextInt(5);
      case 4, 5, 6 -> chance.nextGaussian();
      default -> 100 + 10 * chance.nextDouble();
    };
  }

  /** Spark's: the first value that this part of the values is not above. */
  private static double exact(List<Double> values, double part) {
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    return sorted.get(Math.max(1, (int) Math.ceil(part * sorted.size())) - 1);
  }

  private static void assertClose(double expected, double found) {
    if (Double.isFinite(expected)) {
      assertTrue(
          Math.abs(found - expected) <= Math.abs(expected) * 0.01001,
          () -> found + " for " + expected);
    } else {
      assertEquals(expected, found);
    }
  }

  @Test
  void valuesThatComeAndGoAreWithinOnePercentOfWhatIsThere() {
    byte[] nothing = Written.of(sketch());
    Chance.times(
        100,
        chance -> {
          Sketch sketch = sketch();
          List<Double> values = new ArrayList<>();
          for (int i = 0; i < 300; i++) {
            if (values.isEmpty() || chance.nextInt(300) > i) {
              values.add(value(chance));
              count(sketch, 1, values.get(values.size() - 1));
            } else {
              count(sketch, -1, values.remove(chance.nextInt(values.size())));
            }
            if (chance.nextInt(10) == 0) sketch = Written.again(sketch, sketch());
            if (values.isEmpty()) {
              assertNull(sketch.result());
              continue;
            }
            double[] found = ((ArrayData) sketch.result()).toDoubleArray();
            for (int p = 0; p < PARTS.length; p++) assertClose(exact(values, PARTS[p]), found[p]);
          }
          for (Double value : values) count(sketch, -1, value);
          assertNull(sketch.result());
          assertArrayEquals(nothing, Written.of(sketch));
        });
  }

  @Test
  void theResultHasTheTypeOfTheValues() {
    assertClose(127, (Byte) one(DataTypes.ByteType, (byte) 127));
    assertClose(-32768, (Short) one(DataTypes.ShortType, (short) -32768));
    assertClose(Integer.MAX_VALUE, (Integer) one(DataTypes.IntegerType, Integer.MAX_VALUE));
    assertEquals(7, one(DataTypes.IntegerType, 7));
    assertEquals(-30L, one(DataTypes.LongType, -30L));
    assertClose(2.5, (Float) one(DataTypes.FloatType, 2.5f));
    assertClose(
        12.34,
        ((Decimal) one(DataTypes.createDecimalType(10, 2), new BigDecimal("12.34"))).toDouble());
    // Never more than the type can hold, though the values that stand for others may be larger than
    // these.
    for (int i = 80; i < 128; i++) {
      assertEquals(i, (Byte) one(DataTypes.ByteType, (byte) i), i * 0.01 + 0.5);
      if (i < 100)
        assertEquals(
            i,
            ((Decimal) one(DataTypes.createDecimalType(2, 0), new BigDecimal(i))).toDouble(),
            i * 0.01 + 0.5);
    }
  }

  private static Object one(DataType type, Object value) {
    Sketch sketch = sketch(type, type, 0.5);
    count(sketch, 1, value, null, value, value);
    return sketch.result();
  }

  @Test
  void nullsAreNoValues() {
    Sketch sketch = sketch(DataTypes.DoubleType, DataTypes.DoubleType, 0.5);
    count(sketch, 1, (Object) null);
    assertNull(sketch.result());
  }

  @Test
  void itKeepsAsMuchAsTheValuesAreApartHoweverManyTheyAre() {
    Sketch sketch = sketch();
    Random chance = new Random(1);
    for (int i = 0; i < 100_000; i++) count(sketch, 1, 50 + 100 * chance.nextDouble());
    assertTrue(Written.of(sketch).length < 300);
  }
}
