package headrace.kernel.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Calls;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType;

/**
 * Aggregates computed again from all the rows there are: what the kernel, which only sees rows come
 * and go, must also get.
 */
public final class Recomputed {
  private Recomputed() {}

  /** A row of arguments and its time. */
  public record Entry(DataType[] types, long time, Object... values) {
    public byte[] bytes() {
      return Rows.of(types, values).bytes();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Entry that && time == that.time && Arrays.equals(values, that.values);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(values);
    }
  }

  public static void assertResults(Calls calls, List<Entry> rows, List<Object> found) {
    List<Object> expected = new ArrayList<>();
    for (Call call : calls.calls()) expected.add(result(call, rows));
    assertEquals(expected, found);
  }

  private static Object result(Call call, List<Entry> all) {
    List<Entry> rows =
        all.stream()
            .filter(row -> call.filter() < 0 || Boolean.TRUE.equals(row.values[call.filter()]))
            .toList();
    return switch (call.kind()) {
      case COUNT -> (long) arguments(call, rows).size();
      case COUNT_DISTINCT -> (long) new HashSet<>(arguments(call, rows)).size();
      case SUM, AVERAGE -> sum(call, rows);
      case VAR_POP, VAR_SAMP -> variance(call, rows, call.kind() == Call.Kind.VAR_SAMP);
      case STDDEV_POP, STDDEV_SAMP -> {
        Double variance = variance(call, rows, call.kind() == Call.Kind.STDDEV_SAMP);
        yield variance == null ? null : Math.sqrt(variance);
      }
      case PERCENTILE -> throw new IllegalArgumentException("what is not exact can't be compared");
      case MIN, MAX -> first(values(call, rows, call.first(), call.kind() == Call.Kind.MAX));
      case MIN_BY, MAX_BY ->
          first(values(call, rows, call.first() + 1, call.kind() == Call.Kind.MAX_BY));
      case SMALLEST_BY, LARGEST_BY -> {
        List<Object> values =
            values(call, rows, call.first() + 1, call.kind() == Call.Kind.LARGEST_BY);
        yield values.isEmpty() ? null : values.subList(0, Math.min(call.most(), values.size()));
      }
      case FIRST, LAST -> first(values(call, rows, -1, call.kind() == Call.Kind.LAST));
      case LIST -> values(call, rows, -1, false);
      case SET -> values(call, rows, call.first(), false).stream().distinct().toList();
    };
  }

  private static List<List<Object>> arguments(Call call, List<Entry> rows) {
    return rows.stream()
        .map(
            row ->
                Arrays.asList(row.values)
                    .subList(call.first(), call.first() + call.arguments().length))
        .filter(arguments -> !arguments.contains(null))
        .map(
            arguments ->
                arguments.stream().map(value -> value.equals(-0.0) ? (Object) 0.0 : value).toList())
        .toList();
  }

  private static Object sum(Call call, List<Entry> rows) {
    BigDecimal sum = BigDecimal.ZERO;
    double special = 0;
    long count = 0;
    for (Entry row : rows) {
      Object value = row.values[call.first()];
      if (value == null) continue;
      count++;
      if (value instanceof BigDecimal decimal) sum = sum.add(decimal);
      else if (!(value instanceof Double number))
        sum = sum.add(BigDecimal.valueOf(((Number) value).longValue()));
      else if (Double.isFinite(number)) sum = sum.add(new BigDecimal(number));
      else special += number;
    }
    if (count == 0) return null;
    boolean average = call.kind() == Call.Kind.AVERAGE;
    if (call.result() instanceof DecimalType type) {
      return average
          ? sum.divide(BigDecimal.valueOf(count), type.scale(), RoundingMode.HALF_UP)
          : sum.setScale(type.scale());
    }
    if (call.result() instanceof LongType) return sum.longValueExact();
    if (special != 0) return special;
    // With so many digits that what lies half way between two doubles is seen to.
    return (average
            ? sum.divide(BigDecimal.valueOf(count), new MathContext(sum.precision() + 60))
            : sum)
        .doubleValue();
  }

  private static Double variance(Call call, List<Entry> rows, boolean sample) {
    List<Double> values =
        rows.stream()
            .map(row -> (Double) row.values[call.first()])
            .filter(value -> value != null)
            .toList();
    int divisor = values.size() - (sample ? 1 : 0);
    if (values.isEmpty() || divisor == 0) return null;
    if (!values.stream().allMatch(Double::isFinite)) return Double.NaN;
    BigDecimal count = BigDecimal.valueOf(values.size());
    BigDecimal sum = BigDecimal.ZERO;
    for (Double value : values) sum = sum.add(new BigDecimal(value));
    BigDecimal above = BigDecimal.ZERO;
    // Each value's distance from the mean, times their number, so that there is nothing to round.
    for (Double value : values)
      above = above.add(new BigDecimal(value).multiply(count).subtract(sum).pow(2));
    return above
        .divide(
            count.pow(2).multiply(BigDecimal.valueOf(divisor)),
            new MathContext(above.precision() + 60))
        .doubleValue();
  }

  private static Object first(List<Object> values) {
    return values.isEmpty() ? null : values.get(0);
  }

  /**
   * The values in the order of a column, or of time; of what is equal there, in the order of the
   * values' bytes.
   */
  private static List<Object> values(Call call, List<Entry> rows, int by, boolean descending) {
    record Value(Object order, byte[] bytes, Object value) {}
    Comparator<Value> order = (one, other) -> compare(one.order, other.order);
    Comparator<Value> ties = (one, other) -> Arrays.compareUnsigned(one.bytes, other.bytes);
    DataType[] type = {call.arguments()[0]};
    List<Object> values = new ArrayList<>();
    rows.stream()
        .filter(
            row ->
                (call.nulls() || row.values[call.first()] != null)
                    && (by < 0 || row.values[by] != null))
        .map(
            row -> {
              Object value = row.values[call.first()];
              return new Value(
                  by < 0 ? row.time : row.values[by], Rows.of(type, value).bytes(), value);
            })
        .sorted((descending ? order.reversed() : order).thenComparing(ties))
        .forEach(value -> values.add(value.value));
    return values;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static int compare(Object one, Object other) {
    if (one instanceof Double left && other instanceof Double right)
      return Double.compare(left + 0.0, right + 0.0);
    if (one instanceof String left && other instanceof String right) {
      return Arrays.compareUnsigned(
          left.getBytes(StandardCharsets.UTF_8), right.getBytes(StandardCharsets.UTF_8));
    }
    return ((Comparable) one).compareTo(other);
  }
}
