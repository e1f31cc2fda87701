package headrace.kernel.window;

import headrace.kernel.table.Rows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Spark, which reads the expressions of these tests: one session for all of them. */
final class Sql {
  private static final SparkSession SPARK =
      SparkSession.builder()
          .master("local[1]")
          .config("spark.ui.enabled", "false")
          .config("spark.sql.shuffle.partitions", "1")
          .config("spark.sql.codegen.wholeStage", "false")
          .config("spark.sql.adaptive.enabled", "false")
          .config(
              "spark.sql.streaming.stateStore.providerClass",
              "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
          .config("spark.hadoop.fs.file.impl", "headrace.kernel.LocalDisk")
          .config("spark.sql.warehouse.dir", System.getProperty("java.io.tmpdir"))
          .getOrCreate();

  static {
    SPARK.sparkContext().setLogLevel("ERROR");
  }

  private Sql() {}

  static SparkSession spark() {
    return SPARK;
  }

  static Column[] columns(String... expressions) {
    return Arrays.stream(expressions).map(functions::expr).toArray(Column[]::new);
  }

  static Dataset<Row> frame(String schema, List<Object[]> rows) {
    List<Row> made = rows.stream().map(RowFactory::create).toList();
    return SPARK.createDataFrame(made, StructType.fromDDL(schema));
  }

  static Aggregates aggregates(String schema, String... expressions) {
    return Aggregates.of(frame(schema, List.of()), columns(expressions));
  }

  /** Each row's arguments, as they come to the operator. */
  static List<UnsafeRow> arguments(Aggregates aggregates, Dataset<Row> frame) {
    DataType[] types = aggregates.functions().arguments();
    List<UnsafeRow> rows = new ArrayList<>();
    for (Row row : frame.select(aggregates.arguments()).collectAsList()) {
      Object[] values = new Object[types.length];
      for (int i = 0; i < values.length; i++) values[i] = row.get(i);
      rows.add(Rows.of(types, values).row());
    }
    return rows;
  }

  /** What the expressions are, of a row of results. */
  static List<Object> results(Aggregates aggregates, List<Object> values) {
    Dataset<Row> frame =
        SPARK.createDataFrame(List.of(RowFactory.create(values.toArray())), aggregates.type());
    return values(frame.select(aggregates.results()).head());
  }

  static List<Object> values(Row row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < row.size(); i++)
      values.add(row.get(i) instanceof scala.collection.Seq<?> ? row.getList(i) : row.get(i));
    return values;
  }
}
