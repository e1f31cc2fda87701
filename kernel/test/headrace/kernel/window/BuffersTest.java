package headrace.kernel.window;

import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Rows;
import headrace.kernel.window.frame.Span;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

class BuffersTest {
  private static final String SCHEMA =
      "x int, y double, s string, b boolean, d decimal(10,2), t timestamp";

  /**
   * Functions of every sort, but for those whose result depends on how the rows were split, as
   * histogram_numeric.
   */
  private static final String[] MANY = {
    "count(*)",
    "count(x)",
    "count(x, s)",
    "sum(x)",
    "sum(d)",
    "avg(x)",
    "avg(d)",
    "min(s)",
    "max(y)",
    "min(t)",
    "max(d)",
    "min_by(s, x)",
    "max_by(struct(s, y), y)",
    "first(s)",
    "last(s)",
    "first(x, true)",
    "last(x, true)",
    "any_value(b)",
    "collect_list(s)",
    "collect_list(struct(x, s))",
    "sort_array(collect_set(s))",
    "array_agg(x)",
    "listagg(s, ',') within group (order by s)",
    "approx_percentile(x, array(0.25, 0.5, 1.0), 1000)",
    "percentile(x, 0.5)",
    "median(x)",
    "percentile_cont(0.3) within group (order by x)",
    "mode(x, true)",
    "approx_count_distinct(s)",
    "bool_and(b)",
    "every(b)",
    "some(b)",
    "count_if(x > 1)",
    "bit_xor(x)",
    "bit_and(x)",
    "regr_count(x, y)",
    "count_min_sketch(s, 0.1d, 0.9d, 1)",
    "max_by(s, y, 2)",
    "try_sum(x)",
    "try_avg(x)",
    "sum(x + 1) / count(x)",
    "upper(max(s)) || count(*)",
    "nvl(sum(x) filter (where b), -1)",
    "count(*) filter (where b)",
    "collect_list(s) filter (where x > 1)",
    "approx_percentile(x, 0.5) filter (where b)",
    "sum(if(b, 1, 0))",
    "max(length(s))",
    "sum(1)",
    "max(nvl(x, 7))"
  };

  private static Object[] anyRow(Random chance, int index) {
    return new Object[] {
      Chance.one(chance, null, 0, 1, 2, 3, -5),
      chance.nextInt(5) == 0 ? null : Double.valueOf(index - 3.25),
      Chance.one(chance, null, "", "a", "bb", "ä", "a longer text"),
      Chance.one(chance, null, true, false),
      Chance.one(
          chance, null, new java.math.BigDecimal("1.10"), new java.math.BigDecimal("-20.05")),
      Chance.one(
          chance,
          null,
          java.sql.Timestamp.valueOf("2026-01-02 03:04:05.678901"),
          java.sql.Timestamp.valueOf("1960-01-01 00:00:00"))
    };
  }

  /** The buffer of the rows, some of which went through bytes, or through buffers of their own. */
  private static InternalRow filled(Buffers buffers, List<UnsafeRow> rows, Random chance) {
    InternalRow buffer = buffers.empty();
    int at = 0;
    while (at < rows.size()) {
      if (chance.nextInt(4) == 0) buffer = buffers.read(buffers.write(buffer));
      // To look at it must change nothing.
      if (chance.nextInt(4) == 0) buffers.evaluate(buffer);
      int more = chance.nextInt(rows.size() - at + 1);
      if (more > 1 && chance.nextBoolean()) {
        buffers.merge(buffer, filled(buffers, rows.subList(at, at + more), chance));
        at += more;
      } else {
        buffers.update(buffer, rows.get(at++));
      }
    }
    return chance.nextBoolean() ? buffer : buffers.read(buffers.write(buffer));
  }

  private static List<Object> results(Aggregates aggregates, Results results, InternalRow buffer) {
    byte[] row = results.row(new Span(0, 1), false, buffer);
    return Rows.values(row, Results.types(aggregates.functions()))
        .subList(3, 3 + aggregates.type().size());
  }

  private static void assertSame(List<Object> expected, List<Object> found, String... names) {
    for (int i = 0; i < names.length; i++) {
      Object one =
          expected.get(i) instanceof byte[] bytes ? Arrays.toString(bytes) : expected.get(i);
      Object other = found.get(i) instanceof byte[] bytes ? Arrays.toString(bytes) : found.get(i);
      assertEquals(one, other, names[i]);
    }
  }

  /** Rows, and their arguments. */
  private record Pool(Aggregates aggregates, List<Object[]> rows, List<UnsafeRow> arguments) {
    static Pool of(int size) {
      Random chance = new Random(0);
      List<Object[]> rows = new ArrayList<>();
      for (int i = 0; i < size; i++) rows.add(anyRow(chance, i));
      Dataset<Row> frame = Sql.frame(SCHEMA, rows);
      Aggregates aggregates = Aggregates.of(frame, Sql.columns(MANY));
      return new Pool(aggregates, rows, Sql.arguments(aggregates, frame));
    }
  }

  private static InternalRow straight(Buffers buffers, List<UnsafeRow> rows) {
    InternalRow buffer = buffers.empty();
    for (UnsafeRow row : rows) buffers.update(buffer, row);
    return buffer;
  }

  @Test
  void whatTheyComputeIsWhatSparkComputes() {
    Pool pool = Pool.of(60);
    Results results = new Results(pool.aggregates.functions());
    Buffers buffers = results.buffers();
    for (int size : new int[] {0, 60}) {
      Dataset<Row> frame = Sql.frame(SCHEMA, pool.rows.subList(0, size));
      Row expected =
          frame
              .agg(Sql.columns(MANY)[0], Arrays.copyOfRange(Sql.columns(MANY), 1, MANY.length))
              .head();
      List<Object> found =
          results(pool.aggregates, results, straight(buffers, pool.arguments.subList(0, size)));
      assertSame(Sql.values(expected), Sql.results(pool.aggregates, found), MANY);
    }
  }

  @Test
  void howTheRowsAreSplitMakesNoDifference() {
    Pool pool = Pool.of(200);
    Results results = new Results(pool.aggregates.functions());
    Buffers buffers = results.buffers();
    String[] names =
        Arrays.stream(pool.aggregates.functions().functions())
            .map(Object::toString)
            .toArray(String[]::new);
    Chance.times(
        100,
        chance -> {
          int from = chance.nextInt(170);
          List<UnsafeRow> rows = pool.arguments.subList(from, from + chance.nextInt(30));
          List<Object> expected = results(pool.aggregates, results, straight(buffers, rows));
          assertSame(
              expected, results(pool.aggregates, results, filled(buffers, rows, chance)), names);
        });
  }

  @Test
  void andWhatOneWouldComputeByHand() {
    String[] expressions = {
      "count(y)",
      "sum(y)",
      "avg(y)",
      "min(y)",
      "max(y)",
      "stddev(y)",
      "collect_list(y)",
      "approx_percentile(y, 0.5, 10000)",
      "max_by(x, y)"
    };
    Aggregates aggregates = Sql.aggregates(SCHEMA, expressions);
    Results results = new Results(aggregates.functions());
    Buffers buffers = results.buffers();
    Chance.times(
        100,
        chance -> {
          int count = 2 + chance.nextInt(20);
          double[] values = chance.doubles(count).toArray();
          List<UnsafeRow> rows = new ArrayList<>();
          int best = 0;
          for (int i = 0; i < count; i++) {
            rows.add(Rows.of(aggregates.functions().arguments(), values[i], i).row());
            if (values[i] > values[best]) best = i;
          }
          List<Object> found = results(aggregates, results, filled(buffers, rows, chance));
          double[] sorted = values.clone();
          Arrays.sort(sorted);
          double mean = Arrays.stream(values).average().orElseThrow();
          double squares =
              Arrays.stream(values).map(value -> (value - mean) * (value - mean)).sum();
          assertEquals((long) count, found.get(0));
          assertEquals(Arrays.stream(values).sum(), (Double) found.get(1), 1e-9);
          assertEquals(mean, (Double) found.get(2), 1e-9);
          assertEquals(sorted[0], found.get(3));
          assertEquals(sorted[count - 1], found.get(4));
          assertEquals(Math.sqrt(squares / (count - 1)), (Double) found.get(5), 1e-9);
          assertEquals(Arrays.stream(values).boxed().toList(), found.get(6));
          assertEquals(sorted[(count - 1) / 2], found.get(7));
          assertEquals(best, found.get(8));
        });
  }

  @Test
  void ofNoRowsThereAreNone() {
    Aggregates aggregates =
        Sql.aggregates(SCHEMA, "count(*)", "sum(x)", "collect_list(s)", "max_by(s, x)");
    Results results = new Results(aggregates.functions());
    assertEquals(
        Arrays.asList(0L, null, List.of(), null),
        results(aggregates, results, results.buffers().empty()));
  }
}
