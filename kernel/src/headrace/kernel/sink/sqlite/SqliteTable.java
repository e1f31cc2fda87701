package headrace.kernel.sink.sqlite;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BufferedBatch;
import headrace.kernel.sink.Cells;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;

/** The rows of a stream, one after the other, or the newest row of each key of a table. */
record SqliteTable(String table, Shape shape, boolean create) implements SqliteDestination.Target {
  private static final int EXACT_DIGITS = 15;

  @Override
  public String name() {
    return "the table " + table;
  }

  @Override
  public String place() {
    return "the SQLite file";
  }

  @Override
  public String marks() {
    return "headrace_marks";
  }

  @Override
  public BufferedBatch.Writers writers(String sink, int index) {
    return new BufferedBatch.Writers(sink, index, false, false, shape);
  }

  @Override
  public void begin(Connection connection) throws SQLException {
    IntStream.range(0, shape.fields()).forEach(this::type);
    try (Statement statement = connection.createStatement()) {
      Set<String> there = columns(connection);
      if (there.isEmpty() && !create)
        throw new RefusedException(
            "there is no table " + table + "; it can be made with: " + ddl());
      if (there.isEmpty()) statement.execute(ddl());
      else check(there);
    }
    if (!shape.keyed()) return;
    try (PreparedStatement upsert = connection.prepareStatement(insert())) {
      upsert.clearParameters();
    } catch (SQLException e) {
      if (!e.getMessage().contains("ON CONFLICT clause does not match")) throw e;
      String fix =
          "CREATE UNIQUE INDEX "
              + Shape.quoted(table + "_key")
              + " ON "
              + Shape.quoted(table)
              + " ("
              + Shape.list(shape.key())
              + ")";
      throw new RefusedException(
          "the table "
              + table
              + " has no unique key on "
              + String.join(", ", shape.key())
              + "; it gets one with: "
              + fix);
    }
  }

  @Override
  public boolean missing(Connection connection) throws SQLException {
    return columns(connection).isEmpty();
  }

  @Override
  public void empty(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("DELETE FROM " + Shape.quoted(table));
    }
  }

  /** In lower case: SQLite's names are the same in any. */
  private Set<String> columns(Connection connection) throws SQLException {
    Set<String> names = new HashSet<>();
    try (PreparedStatement statement =
        connection.prepareStatement("SELECT lower(name) FROM pragma_table_info(?)")) {
      statement.setString(1, table);
      try (ResultSet row = statement.executeQuery()) {
        while (row.next()) names.add(row.getString(1));
      }
    }
    return names;
  }

  private void check(Set<String> there) {
    List<Integer> missing =
        IntStream.range(0, shape.fields())
            .filter(i -> !there.contains(shape.names().get(i).toLowerCase(Locale.ROOT)))
            .boxed()
            .toList();
    if (missing.isEmpty()) return;
    String fix =
        missing.stream()
            .map(i -> "ALTER TABLE " + Shape.quoted(table) + " ADD COLUMN " + column(i))
            .collect(Collectors.joining("; "));
    String names = missing.stream().map(shape.names()::get).collect(Collectors.joining(", "));
    throw new RefusedException(
        "the table " + table + " has no column " + names + "; it gets them with: " + fix);
  }

  String ddl() {
    String columns =
        IntStream.range(0, shape.fields()).mapToObj(this::column).collect(Collectors.joining(", "));
    // With a key the rows are in the key's tree, not beside it: one search for each.
    String key =
        shape.keyed() ? ", PRIMARY KEY (" + Shape.list(shape.key()) + ")) WITHOUT ROWID" : ")";
    return "CREATE TABLE " + Shape.quoted(table) + " (" + columns + key;
  }

  private String column(int i) {
    String name = shape.names().get(i);
    return Shape.quoted(name) + " " + type(i) + (shape.key().contains(name) ? " NOT NULL" : "");
  }

  private String type(int i) {
    DataType type = shape.of(i);
    if (type instanceof BooleanType || type instanceof IntegralType) return "INTEGER";
    if (type instanceof FloatType || type instanceof DoubleType) return "REAL";
    if (type instanceof BinaryType) return "BLOB";
    // Sent as text: a column of numbers makes one of it, exactly up to 15 digits. Longer ones would
    // be rounded, and stay text.
    if (type instanceof DecimalType decimal && decimal.precision() <= EXACT_DIGITS)
      return "NUMERIC";
    if (Cells.text(type) != null) return "TEXT";
    throw new RefusedException(
        "the column "
            + shape.names().get(i)
            + " is a "
            + type.simpleString()
            + ": cast it to a string");
  }

  private String insert() {
    String marks = shape.names().stream().map(name -> "?").collect(Collectors.joining(", "));
    String insert =
        "INSERT INTO "
            + Shape.quoted(table)
            + " ("
            + Shape.list(shape.names())
            + ") VALUES ("
            + marks
            + ")";
    if (!shape.keyed()) return insert;
    String set =
        shape.rest().stream()
            .map(name -> Shape.quoted(name) + " = excluded." + Shape.quoted(name))
            .collect(Collectors.joining(", "));
    return insert
        + " ON CONFLICT ("
        + Shape.list(shape.key())
        + ") DO "
        + (set.isEmpty() ? "NOTHING" : "UPDATE SET " + set);
  }

  private String delete() {
    return "DELETE FROM "
        + Shape.quoted(table)
        + " WHERE "
        + shape.key().stream()
            .map(name -> Shape.quoted(name) + " = ?")
            .collect(Collectors.joining(" AND "));
  }

  @Override
  public void write(
      Connection connection, Batch batch, BufferedBatch buffered, List<Serializable> results)
      throws SQLException {
    int[] key = shape.places();
    Bind[] binds =
        IntStream.range(0, shape.fields()).mapToObj(i -> bind(shape.of(i))).toArray(Bind[]::new);
    try (PreparedStatement insert = connection.prepareStatement(insert());
        PreparedStatement delete = shape.keyed() ? connection.prepareStatement(delete()) : null) {
      buffered.<SQLException>forEach(
          results,
          shape.fields(),
          (k, v, deleted, row) -> {
            Shape.checkKey(row, key, shape.type(), name());
            if (deleted && delete == null)
              throw new RefusedException(name() + " has no key, and a row was deleted");
            PreparedStatement statement = deleted ? delete : insert;
            int places = deleted ? key.length : binds.length;
            for (int at = 0; at < places; at++) {
              int column = deleted ? key[at] : at;
              if (row.isNullAt(column)) statement.setNull(at + 1, java.sql.Types.NULL);
              else binds[column].bind(statement, at + 1, row, column);
            }
            statement.executeUpdate();
          });
    }
  }

  private interface Bind {
    void bind(PreparedStatement statement, int at, InternalRow row, int column) throws SQLException;
  }

  private static Bind bind(DataType type) {
    if (type instanceof BooleanType)
      return (statement, at, row, i) -> statement.setInt(at, row.getBoolean(i) ? 1 : 0);
    if (type instanceof ByteType)
      return (statement, at, row, i) -> statement.setInt(at, row.getByte(i));
    if (type instanceof ShortType)
      return (statement, at, row, i) -> statement.setInt(at, row.getShort(i));
    if (type instanceof IntegerType)
      return (statement, at, row, i) -> statement.setInt(at, row.getInt(i));
    if (type instanceof LongType)
      return (statement, at, row, i) -> statement.setLong(at, row.getLong(i));
    if (type instanceof FloatType)
      return (statement, at, row, i) -> statement.setDouble(at, row.getFloat(i));
    if (type instanceof DoubleType)
      return (statement, at, row, i) -> statement.setDouble(at, row.getDouble(i));
    if (type instanceof BinaryType)
      return (statement, at, row, i) -> statement.setBytes(at, row.getBinary(i));
    Cells.Text text = Cells.text(type);
    return (statement, at, row, i) -> statement.setString(at, text.of(row, i));
  }
}
