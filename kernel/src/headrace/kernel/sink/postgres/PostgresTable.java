package headrace.kernel.sink.postgres;

import headrace.kernel.sink.Cells;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.*;

/** The table that rows go to: made if it is missing, else looked at. */
record PostgresTable(String name, Shape shape, boolean create) {
  private record Column(String type, String shown, boolean writable) {}

  /** As SQL has it. */
  String quoted() {
    return Arrays.stream(name.split("\\.", 2)).map(Shape::quoted).collect(Collectors.joining("."));
  }

  boolean missing(Connection connection) throws SQLException {
    return columns(connection) == null;
  }

  void begin(Connection connection) throws SQLException {
    Map<String, Column> there = columns(connection);
    if (there == null) {
      if (!create)
        throw new RefusedException("there is no table " + name + "; it can be made with: " + ddl());
      try (Statement statement = connection.createStatement()) {
        statement.execute(ddl());
      }
      return;
    }
    List<String> fixes = new ArrayList<>();
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < shape.fields(); i++) {
      String column = shape.names().get(i);
      Column found = there.get(column);
      if (found == null) {
        wrong.add("has no column " + column);
        fixes.add("ADD COLUMN " + Shape.quoted(column) + " " + type(i));
      } else if (!found.writable) {
        wrong.add("computes its column " + column + " itself");
      } else if (!takes(shape.of(i)).contains(found.type)) {
        wrong.add(
            "has "
                + column
                + " as "
                + found.shown
                + ", and here it is "
                + shape.of(i).simpleString());
        fixes.add("ALTER COLUMN " + Shape.quoted(column) + " TYPE " + type(i));
      }
    }
    if (wrong.isEmpty() && shape.keyed() && !unique(connection)) {
      wrong.add("has no unique key on " + String.join(", ", shape.key()));
      fixes.add("ADD PRIMARY KEY (" + Shape.list(shape.key()) + ")");
    }
    if (wrong.isEmpty()) return;
    String fix =
        fixes.isEmpty()
            ? ""
            : "; it fits after: ALTER TABLE " + quoted() + " " + String.join(", ", fixes);
    throw new RefusedException("the table " + name + " " + String.join(", ", wrong) + fix);
  }

  /** Null for no table. */
  private Map<String, Column> columns(Connection connection) throws SQLException {
    String look =
        "SELECT a.attname, CASE WHEN b.typtype = 'e' THEN 'text' ELSE b.typname END,"
            + " format_type(a.atttypid, a.atttypmod), a.attgenerated = '' AND a.attidentity <> 'a'"
            + " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid ="
            + " CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END WHERE a.attrelid ="
            + " to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped";
    Map<String, Column> columns = new HashMap<>();
    try (PreparedStatement statement = connection.prepareStatement(look)) {
      statement.setString(1, quoted());
      try (ResultSet row = statement.executeQuery()) {
        while (row.next())
          columns.put(
              row.getString(1), new Column(row.getString(2), row.getString(3), row.getBoolean(4)));
      }
    }
    return columns.isEmpty() ? null : columns;
  }

  /** Whether ON CONFLICT finds an index for the key. */
  private boolean unique(Connection connection) throws SQLException {
    String look =
        "SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_index i JOIN"
            + " pg_attribute a ON a.attrelid = i.indrelid AND a.attnum ="
            + " ANY((i.indkey::int2[])[0:i.indnkeyatts - 1]) WHERE i.indrelid = to_regclass(?) AND"
            + " i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND"
            + " i.indexprs IS NULL GROUP BY i.indexrelid";
    Set<String> key = Set.copyOf(shape.key());
    try (PreparedStatement statement = connection.prepareStatement(look)) {
      statement.setString(1, quoted());
      try (ResultSet row = statement.executeQuery()) {
        while (row.next())
          if (key.equals(Set.of((String[]) row.getArray(1).getArray()))) return true;
      }
    }
    return false;
  }

  String ddl() {
    String columns =
        IntStream.range(0, shape.fields())
            .mapToObj(i -> Shape.quoted(shape.names().get(i)) + " " + type(i))
            .collect(Collectors.joining(", "));
    return "CREATE TABLE "
        + quoted()
        + " ("
        + columns
        + (shape.keyed() ? ", PRIMARY KEY (" + Shape.list(shape.key()) + ")" : "")
        + ")";
  }

  private String type(int i) {
    DataType type = shape.of(i);
    if (type instanceof StringType) return "text";
    if (type instanceof LongType) return "bigint";
    if (type instanceof IntegerType) return "integer";
    if (type instanceof ShortType || type instanceof ByteType) return "smallint";
    if (type instanceof DoubleType) return "double precision";
    if (type instanceof FloatType) return "real";
    if (type instanceof DecimalType d) return "numeric(" + d.precision() + "," + d.scale() + ")";
    if (type instanceof BooleanType) return "boolean";
    if (type instanceof TimestampType) return "timestamptz";
    if (type instanceof TimestampNTZType) return "timestamp";
    if (type instanceof DateType) return "date";
    if (type instanceof BinaryType) return "bytea";
    if (Cells.nested(type)) return "jsonb";
    throw new RefusedException(
        "the column "
            + shape.names().get(i)
            + " is a "
            + type.simpleString()
            + ": cast it to a string");
  }

  /**
   * The types of columns that hold all values of a type. Strings are read by the column, which may
   * refuse one.
   */
  private static Set<String> takes(DataType type) {
    if (type instanceof StringType) {
      return Set.of(
          "text", "varchar", "bpchar", "citext", "name", "uuid", "json", "jsonb", "inet", "cidr",
          "macaddr", "xml", "ltree");
    }
    if (type instanceof LongType) return Set.of("int8", "numeric");
    if (type instanceof IntegerType) return Set.of("int4", "int8", "numeric", "float8");
    if (type instanceof ShortType || type instanceof ByteType)
      return Set.of("int2", "int4", "int8", "numeric", "float4", "float8");
    if (type instanceof DoubleType) return Set.of("float8");
    if (type instanceof FloatType) return Set.of("float4", "float8");
    if (type instanceof DecimalType) return Set.of("numeric");
    if (type instanceof BooleanType) return Set.of("bool");
    if (type instanceof TimestampType) return Set.of("timestamptz");
    if (type instanceof TimestampNTZType) return Set.of("timestamp");
    if (type instanceof DateType) return Set.of("date");
    if (type instanceof BinaryType) return Set.of("bytea");
    return Cells.nested(type) ? Set.of("jsonb", "json") : Set.of();
  }

  /** Of each key the last change: the row, or that it is gone. */
  String upsert(String source, boolean deletes) {
    String key = Shape.list(shape.key());
    String names = Shape.list(shape.names());
    String last =
        "last AS MATERIALIZED (SELECT DISTINCT ON ("
            + key
            + ") * FROM ("
            + source
            + ") s ORDER BY "
            + key
            + ", "
            + PostgresDestination.SEQUENCE
            + " DESC)";
    String same =
        shape.key().stream()
            .map(name -> "t." + Shape.quoted(name) + " = l." + Shape.quoted(name))
            .collect(Collectors.joining(" AND "));
    String gone =
        ", gone AS (DELETE FROM "
            + quoted()
            + " t USING last l WHERE l."
            + PostgresDestination.DELETED
            + " AND "
            + same
            + ")";
    String set =
        shape.rest().stream()
            .map(name -> Shape.quoted(name) + " = excluded." + Shape.quoted(name))
            .collect(Collectors.joining(", "));
    return "WITH "
        + last
        + (deletes ? gone : "")
        + " INSERT INTO "
        + quoted()
        + " ("
        + names
        + ") SELECT "
        + names
        + " FROM last WHERE NOT "
        + PostgresDestination.DELETED
        + " ON CONFLICT ("
        + key
        + ") DO "
        + (set.isEmpty() ? "NOTHING" : "UPDATE SET " + set);
  }

  String append(String source) {
    String names = Shape.list(shape.names());
    return "INSERT INTO "
        + quoted()
        + " ("
        + names
        + ") SELECT "
        + names
        + " FROM ("
        + source
        + ") s";
  }
}
