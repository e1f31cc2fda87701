package headrace.kernel.sink.sqlite;

import static java.util.Comparator.comparing;
import static java.util.Comparator.naturalOrder;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BufferedBatch;
import headrace.kernel.sink.Confirmed;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Destinations;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import headrace.kernel.sink.TaskOutput;
import headrace.kernel.sink.TaskWriter;
import headrace.kernel.sink.postgres.CopyTextTest;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.JDBC;

class SqliteDestinationTest {
  private static final StructType ROW = StructType.fromDDL("id int, text string");
  private static final StructType LINE =
      new StructType()
          .add("key", "string")
          .add("value", "string")
          .add("route", "int")
          .add("deleted", "boolean")
          .add("row", ROW);
  private static final UnsafeProjection UNSAFE = UnsafeProjection.create(LINE);

  @TempDir Path folder;
  private String file;

  @BeforeEach
  void name() {
    file = folder.resolve("x.db").toString();
  }

  private static InternalRow line(int id, String text, int route) {
    Object key = UTF8String.fromString(Integer.toString(id));
    Object cells = new GenericInternalRow(new Object[] {id, UTF8String.fromString(text)});
    return UNSAFE
        .apply(new GenericInternalRow(new Object[] {key, null, route, text == null, cells}))
        .copy();
  }

  private SqliteDestination table(String mark, String table, StructType row, List<String> key) {
    Context context = new Context("a sink", 0, mark, row.json(), key);
    return (SqliteDestination)
        Destinations.make(
            "sqlite.SqliteDestination",
            context,
            Map.of("file", file, "table", table, "create", true));
  }

  private SqliteDestination destination() {
    return table("a query", "t", ROW, List.of("id"));
  }

  private Destinations sink(Destination... destinations) {
    Destinations.register("a sink", List.of(destinations));
    Destinations.named("a sink").compare(checkpoint());
    return Destinations.named("a sink");
  }

  /** As of a query that runs: Spark has noted all batches up to 99. */
  private Confirmed checkpoint() {
    try {
      Files.createDirectories(folder.resolve("checkpoint/commits"));
      Files.writeString(folder.resolve("checkpoint/metadata"), "{\"id\": \"checkpoint\"}");
      Files.writeString(folder.resolve("checkpoint/commits/99"), "");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Confirmed.at(folder.resolve("checkpoint").toString(), new Configuration());
  }

  private static Batch batch(long number) {
    return new Batch("checkpoint", number, "hash" + number);
  }

  /** What a task leaves. */
  private static Serializable task(TaskWriter.Factory writers, InternalRow... rows) {
    TaskWriter lines = CopyTextTest.sent(writers).open(0);
    for (InternalRow row : rows) lines.write(row);
    return lines.finish();
  }

  private static void write(Destinations sink, Batch batch, InternalRow... rows) {
    TaskWriter.Factory writers = sink.open(batch)[0];
    if (writers != null) commit(sink, batch, rows.length, task(writers, rows));
  }

  private static void commit(Destinations sink, Batch batch, int rows, Serializable result) {
    sink.batchWrite(0).commit(List.of(result), batch.done(rows));
  }

  private Map<Integer, String> rows() throws SQLException {
    Map<Integer, String> rows = new TreeMap<>();
    try (Connection connection = new JDBC().connect("jdbc:sqlite:" + file, new Properties());
        ResultSet row = connection.createStatement().executeQuery("SELECT id, text FROM t")) {
      while (row.next()) rows.put(row.getInt(1), row.getString(2));
    }
    return rows;
  }

  @Test
  void ofARowOnlyTheLastChangeIsThere() throws SQLException {
    write(
        sink(destination()),
        batch(0),
        line(1, "a", 0),
        line(2, "b", 0),
        line(1, "c", 0),
        line(2, null, 0),
        line(3, null, 0),
        line(3, "d", 0));
    assertEquals(Map.of(1, "c", 3, "d"), rows());
  }

  /**
   * In the table as it is made now, and in one that was made with a column of text, which keeps
   * what it has.
   */
  @Test
  void decimalsThatNumbersHoldExactlySortAsNumbers() throws SQLException {
    StructType row = StructType.fromDDL("price decimal(15,2), total decimal(20,2), text string");
    StructType line =
        new StructType()
            .add("key", "string")
            .add("value", "string")
            .add("route", "int")
            .add("deleted", "boolean")
            .add("row", row);
    UnsafeProjection unsafe = UnsafeProjection.create(line);
    List<String> prices =
        List.of(
            "10.00", "9.50", "-2.25", "100.10", "9999999999999.99", "-0.01", "9999999999999.98");
    InternalRow[] rows =
        prices.stream()
            .map(
                price -> {
                  Object exact = Decimal.apply(new java.math.BigDecimal(price), 15, 2);
                  Object wide = Decimal.apply(new java.math.BigDecimal(price), 20, 2);
                  Object cells =
                      new GenericInternalRow(
                          new Object[] {exact, wide, UTF8String.fromString(price)});
                  return unsafe
                      .apply(new GenericInternalRow(new Object[] {null, null, 0, false, cells}))
                      .copy();
                })
            .toArray(InternalRow[]::new);
    for (String table : List.of("made", "older")) {
      try (Connection connection = new JDBC().connect("jdbc:sqlite:" + file, new Properties())) {
        if (table.equals("older")) {
          connection
              .createStatement()
              .execute(
                  "CREATE TABLE older (price TEXT PRIMARY KEY NOT NULL, total TEXT, text TEXT)");
        }
        SqliteDestination destination = table(table, table, row, List.of("price"));
        write(sink(destination), batch(0), rows);
        // The same once more: the key of a number is found again by its text.
        write(sink(destination), batch(1), rows);
        List<String> found = new ArrayList<>();
        try (ResultSet next =
            connection
                .createStatement()
                .executeQuery(
                    "SELECT text, printf('%.2f', price), total FROM "
                        + table
                        + " ORDER BY price")) {
          while (next.next()) {
            found.add(next.getString(1));
            assertEquals(next.getString(1), next.getString(2));
            assertEquals(next.getString(1), next.getString(3));
          }
        }
        List<String> sorted =
            prices.stream()
                .sorted(
                    table.equals("made") ? comparing(java.math.BigDecimal::new) : naturalOrder())
                .toList();
        assertEquals(sorted, found);
      }
    }
  }

  @Test
  void whatCameTooLateIsNotTheTables() throws SQLException {
    write(sink(destination()), batch(0), line(1, "a", 0), line(2, "b", 1));
    assertEquals(Map.of(1, "a"), rows());
  }

  @Test
  void aBatchIsTakenOnce() throws SQLException {
    write(sink(destination()), batch(0), line(1, "a", 0));
    write(sink(destination()), batch(0), line(2, "b", 0));
    assertEquals(Map.of(1, "a"), rows());
  }

  @Test
  void onlyTheTryThatIsToldOfCounts() throws SQLException {
    Destinations sink = sink(destination());
    TaskWriter.Factory writers = sink.open(batch(0))[0];
    task(writers, line(1, "first", 0), line(2, "first", 0));
    TaskWriter failed = writers.open(0);
    failed.write(line(3, "second", 0));
    failed.abort();
    Serializable third = task(writers, line(1, "third", 0));
    commit(sink, batch(0), 1, third);
    assertEquals(Map.of(1, "third"), rows());
  }

  @Test
  void aTaskElsewhereSendsItsRows() throws SQLException {
    Destinations sink = sink(destination());
    sink.open(batch(0));
    // As in a process that knows of no sink.
    TaskWriter.Factory elsewhere =
        new BufferedBatch.Writers(
            "unknown here", 0, false, false, Shape.of(ROW.json(), List.of("id")));
    Serializable result = task(elsewhere, line(1, "a", 0), line(1, null, 0), line(2, "b", 0));
    assertTrue(result instanceof TaskOutput.Stored left && left.pieces().isEmpty());
    commit(sink, batch(0), 3, result);
    assertEquals(Map.of(2, "b"), rows());
  }

  @Test
  void manyRowsGoThroughAFileThatIsGoneAfterwards() throws Exception {
    int many = 60_000;
    InternalRow[] lines = new InternalRow[many];
    Arrays.setAll(lines, id -> line(id, "x".repeat(300), 0));
    Destinations sink = sink(destination());
    Serializable result = task(sink.open(batch(0))[0], lines);
    assertEquals(1, spilled().size());
    commit(sink, batch(0), many, result);
    assertEquals(0, spilled().size());
    assertEquals(many, rows().size());
  }

  private static List<Path> spilled() throws Exception {
    try (var files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      return files
          .filter(path -> path.getFileName().toString().startsWith("headrace-batch"))
          .toList();
    }
  }

  @Test
  void aRunThatWasReplacedWritesNothing() throws SQLException {
    Destinations first = sink(destination());
    write(first, batch(0), line(1, "a", 0));
    SqliteDestination second = destination();
    assertEquals(batch(0).done(1), second.begin());
    RefusedException refused =
        assertThrows(RefusedException.class, () -> write(first, batch(1), line(2, "b", 0)));
    assertTrue(
        refused.getMessage().startsWith("another run of a query writes to the table t now"),
        refused.getMessage());
    assertEquals(Map.of(1, "a"), rows());
    second.close();
  }

  @Test
  void aMarkThatIsForgottenIsNone() throws SQLException {
    write(sink(destination()), batch(3), line(1, "a", 0));
    destination().forget();
    SqliteDestination next = destination();
    assertNull(next.begin());
    next.close();
    write(sink(destination()), batch(0), line(2, "b", 0));
    assertEquals(Map.of(1, "a", 2, "b"), rows());
  }

  @Test
  void anyHistoryInAnyBatchesWithAnyReplaysLeavesTheNewestRows() throws SQLException {
    Random chance = new Random(4);
    Map<Integer, String> model = new TreeMap<>();
    Destinations sink = sink(destination());
    for (int number = 0; number < 60; number++) {
      List<InternalRow> lines = new ArrayList<>();
      for (int i = chance.nextInt(30); i > 0; i--) {
        int id = chance.nextInt(20);
        String text = chance.nextInt(3) == 0 ? null : "v" + chance.nextInt();
        lines.add(line(id, text, 0));
        if (text == null) model.remove(id);
        else model.put(id, text);
      }
      InternalRow[] rows = lines.toArray(InternalRow[]::new);
      write(sink, batch(number), rows);
      if (chance.nextInt(4) == 0) {
        sink = sink(destination());
        write(sink, batch(number), rows);
      }
    }
    assertEquals(model, rows());
  }
}
