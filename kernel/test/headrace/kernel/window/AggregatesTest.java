package headrace.kernel.window;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.window.frame.Frames;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class AggregatesTest {
  private static final String SCHEMA = "x int, y double, s string";

  private static Aggregates of(String... expressions) {
    return Sql.aggregates(SCHEMA, expressions);
  }

  private static List<String> arguments(Aggregates aggregates) {
    return Arrays.stream(aggregates.arguments()).map(Object::toString).toList();
  }

  @Test
  void whatIsInACallBecomesAnArgument() {
    Aggregates aggregates = of("sum(x)", "max(y) + min(x)", "avg(x * 2)");
    assertEquals(List.of("x", "y", "(x * 2)"), arguments(aggregates));
    assertEquals(
        new StructType()
            .add("_r0", DataTypes.LongType)
            .add("_r1", DataTypes.DoubleType)
            .add("_r2", DataTypes.IntegerType)
            .add("_r3", DataTypes.DoubleType),
        aggregates.type());
    assertEquals(3, aggregates.results().length);
    assertArrayEquals(
        new Object[] {DataTypes.IntegerType, DataTypes.DoubleType, DataTypes.IntegerType},
        aggregates.functions().arguments());
  }

  @Test
  void whatIsCalledTwiceIsComputedOnce() {
    Aggregates aggregates = of("sum(x) / count(x)", "sum(x)", "count(x) filter (where y > 1)");
    assertEquals(3, aggregates.functions().functions().length);
    assertEquals(2, aggregates.arguments().length);
    assertArrayEquals(new int[] {-1, -1, 1}, aggregates.functions().filters());
  }

  @Test
  void thereIsAlwaysAnArgument() {
    assertEquals(1, of("count(*)").arguments().length);
    assertEquals(1, of("count(*)").functions().arguments().length);
  }

  @Test
  void constantsStayInTheCall() {
    assertEquals(
        List.of("x"), arguments(of("approx_percentile(x, array(0.1, 0.5 + 0.1), 10 * 10)")));
  }

  @Test
  void theCurrentTimeIsNoConstant() {
    assertEquals(1, of("max(current_timestamp())").functions().arguments().length);
    assertEquals(
        DataTypes.TimestampType, of("max(current_timestamp())").functions().arguments()[0]);
  }

  @Test
  void distinctValuesAreRefused() {
    var refused = assertThrows(IllegalArgumentException.class, () -> of("1 + count(distinct x)"));
    assertEquals(
        "count(DISTINCT x) can't be computed in these windows: a window keeps no list of the values"
            + " it has seen",
        refused.getMessage());
  }

  @Test
  void whatSparkRefusesIsRefusedBySpark() {
    assertThrows(AnalysisException.class, () -> of("sum(z)"));
    assertThrows(AnalysisException.class, () -> of("sum(array(x))"));
  }

  @Test
  void functionsTravel() throws Exception {
    Functions functions =
        of(
                "avg(x)",
                "collect_list(s)",
                "approx_percentile(x, 0.5)",
                "approx_count_distinct(x)",
                "count_if(x > 1)")
            .functions();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(new WindowAggregate(functions, Frames.session(5), EmitMode.FINAL, 0));
      out.writeObject(functions);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      assertTrue(in.readObject() instanceof WindowAggregate);
      Buffers buffers = new Buffers((Functions) in.readObject());
      assertEquals(0, buffers.evaluate(buffers.read(buffers.write(buffers.empty()))).getLong(3));
    }
  }
}
