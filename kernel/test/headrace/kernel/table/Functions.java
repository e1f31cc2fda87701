package headrace.kernel.table;

import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Call.Kind;
import headrace.kernel.table.aggregate.Calls;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Calls of aggregate functions over one row of arguments, and rows of them. */
public final class Functions {
  private static final DataType INT = DataTypes.IntegerType;
  private static final DataType LONG = DataTypes.LongType;
  private static final DataType DOUBLE = DataTypes.DoubleType;
  private static final DataType STRING = DataTypes.StringType;

  /** x, y, text, a number, and a condition. */
  static final DataType[] COLUMNS = {INT, LONG, STRING, DOUBLE, DataTypes.BooleanType};

  private static final int FILTER = 4;

  /** The first of an order: whose heads are at most this many. */
  private static final int MOST = 3;

  private Functions() {}

  /** One of all that keep no map, or only one that needs no order. */
  public static Calls all() {
    return calls(
        call(Kind.COUNT, 1, -1, 0, false, LONG),
        call(Kind.COUNT, 0, FILTER, 0, false, LONG),
        call(Kind.COUNT_DISTINCT, 0, -1, 0, false, LONG),
        call(Kind.COUNT_DISTINCT, 3, FILTER, 0, false, LONG),
        new Call(Kind.COUNT_DISTINCT, 2, new DataType[] {STRING, DOUBLE}, -1, 0, false, LONG),
        call(Kind.SUM, 0, -1, 0, false, LONG),
        call(Kind.SUM, 3, FILTER, 0, false, DOUBLE),
        call(Kind.AVERAGE, 0, -1, 0, false, DOUBLE),
        call(Kind.AVERAGE, 3, -1, 0, false, DOUBLE),
        call(Kind.VAR_POP, 3, -1, 0, false, DOUBLE),
        call(Kind.VAR_SAMP, 3, FILTER, 0, false, DOUBLE),
        call(Kind.STDDEV_POP, 3, FILTER, 0, false, DOUBLE),
        call(Kind.STDDEV_SAMP, 3, -1, 0, false, DOUBLE),
        call(Kind.LIST, 0, -1, 0, false, DataTypes.createArrayType(INT)),
        call(Kind.LIST, 2, FILTER, 0, false, DataTypes.createArrayType(STRING)),
        call(Kind.SET, 2, -1, 0, false, DataTypes.createArrayType(STRING)));
  }

  /** Those that give the first of an order. */
  public static Calls ordered() {
    return calls(
        call(Kind.MIN, 0, -1, 1, false, INT),
        call(Kind.MAX, 0, FILTER, 1, false, INT),
        call(Kind.MIN, 2, -1, 1, false, STRING),
        call(Kind.MAX, 2, -1, 1, false, STRING),
        call(Kind.MIN, 1, -1, 1, false, LONG),
        call(Kind.MAX, 1, -1, 1, false, LONG),
        new Call(Kind.MIN_BY, 2, new DataType[] {STRING, DOUBLE}, -1, 1, true, STRING),
        new Call(Kind.MAX_BY, 2, new DataType[] {STRING, DOUBLE}, -1, 1, true, STRING),
        new Call(
            Kind.SMALLEST_BY,
            1,
            new DataType[] {LONG, STRING},
            -1,
            MOST,
            true,
            DataTypes.createArrayType(LONG)),
        new Call(
            Kind.LARGEST_BY,
            0,
            new DataType[] {INT, LONG},
            FILTER,
            MOST,
            true,
            DataTypes.createArrayType(INT)),
        call(Kind.FIRST, 0, -1, 1, true, INT),
        call(Kind.FIRST, 0, -1, 1, false, INT),
        call(Kind.LAST, 2, -1, 1, true, STRING),
        call(Kind.LAST, 2, FILTER, 1, false, STRING));
  }

  private static Call call(
      Kind kind, int first, int filter, int most, boolean nulls, DataType result) {
    return new Call(kind, first, new DataType[] {COLUMNS[first]}, filter, most, nulls, result);
  }

  private static Calls calls(Call... calls) {
    return new Calls(calls, COLUMNS.length);
  }

  public static DataType[] results(Calls calls) {
    return Arrays.stream(calls.calls()).map(Call::result).toArray(DataType[]::new);
  }

  /** A row of any values, few of them, so that there are equal ones. */
  public static Entry few(Random chance) {
    return new Entry(
        COLUMNS,
        chance.nextInt(6),
        Chance.one(chance, null, 1, 2, -3, Integer.MIN_VALUE, Integer.MAX_VALUE),
        (long) chance.nextInt(3),
        Chance.one(
            chance,
            null,
            "",
            "a",
            "a\0",
            "ab",
            "ä",
            "a common beginning 1",
            "a common beginning 2"),
        Chance.one(
            chance,
            null,
            0.0,
            0.1,
            0.2,
            1e17,
            -1e17,
            3.0,
            Double.NaN,
            Double.MAX_VALUE,
            Double.MIN_VALUE),
        Chance.one(chance, null, true, true, false));
  }

  /** A row of values of which hardly two are equal. */
  public static Entry many(Random chance) {
    String text = Chance.one(chance, "", "a beginning for all ", "x") + chance.nextInt(100);
    return new Entry(
        COLUMNS,
        chance.nextInt(1000),
        chance.nextInt(1000) - 500,
        chance.nextLong(),
        text,
        chance.nextGaussian(),
        chance.nextInt(4) > 0);
  }
}
