package headrace.kernel.sink.postgres;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.MarkException;
import headrace.kernel.sink.Marks;
import headrace.kernel.sink.Options;
import headrace.kernel.sink.Point;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import headrace.kernel.sink.SinkException;
import headrace.kernel.sink.TaskWriter;
import java.io.Serializable;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;

/**
 * A table in PostgreSQL. Tasks copy their rows into a staging table of this run; then one
 * transaction merges those that count, with the mark.
 *
 * <p>In the schema headrace are the marks and, while a query runs, its staging table. That is
 * unlogged: what a crash of the server leaves of it is nothing, so the rows are counted before they
 * are merged.
 */
public final class PostgresDestination implements Destination {
  static final String TASK = Shape.quoted("headrace.task");
  static final String SEQUENCE = Shape.quoted("headrace.sequence");
  static final String DELETED = Shape.quoted("headrace.deleted");
  private static final String HELD = "pg_temp.held";
  private static final String[] HOME = {
    "CREATE SCHEMA IF NOT EXISTS headrace",
    "CREATE TABLE IF NOT EXISTS headrace.marks (" + Marks.columns("text", "bigint") + ")"
  };

  private final PostgresServer server;
  private final String query;
  private final PostgresTable table;
  private final Marks marks = new Marks("headrace.marks", " FOR UPDATE");
  private Connection connection;
  private long epoch;
  private String staging;

  public PostgresDestination(Context context, Options options) {
    this.server =
        new PostgresServer(
            options.text("host"),
            options.number("port"),
            options.text("database"),
            options.texts("options"),
            options.text("password"));
    this.query = context.mark();
    this.table = new PostgresTable(options.text("table"), context.shape(), options.flag("create"));
  }

  @Override
  public String name() {
    return "the table " + table.name();
  }

  @Override
  public String id() {
    return query;
  }

  @Override
  public String place() {
    return server.toString();
  }

  @Override
  public Mark begin() {
    try {
      connection = server.connect();
      // A transaction of a run that has lost its network must not lock the marks for ever.
      execute("SET idle_in_transaction_session_timeout = '60s'");
      // A commit must survive a crash of the server: Spark's own may be on disk by then.
      execute(
          "SELECT set_config('synchronous_commit', 'on', false) WHERE"
              + " current_setting('synchronous_commit') = 'off'");
      home();
      execute("SET lock_timeout = '60s'");
      Marks.Begun begun = marks.begin(connection, query);
      epoch = begun.epoch();
      if (begun.mark() != null && table.missing(connection))
        throw MarkException.cut(name() + " is gone from " + place(), begun.mark());
      table.begin(connection);
      stage();
      execute("SET lock_timeout = 0");
      return begun.mark();
    } catch (SQLException e) {
      throw server.error(name(), e);
    }
  }

  @Override
  public void forget() {
    try {
      connection = server.connect();
      home();
      marks.forget(connection, query);
    } catch (SQLException e) {
      throw server.error(name(), e);
    }
  }

  @Override
  public void empty() {
    try (Connection own = server.connect();
        Statement statement = own.createStatement()) {
      if (!table.missing(own)) statement.execute("DELETE FROM " + table.quoted());
    } catch (SQLException e) {
      throw server.error(name(), e);
    }
  }

  private void home() throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery("SELECT to_regclass('headrace.marks') IS NOT NULL")) {
      row.next();
      if (row.getBoolean(1)) return;
    }
    try {
      connection.setAutoCommit(false);
      // Two that make the same schema at once would meet in PostgreSQL's catalog.
      execute("SELECT pg_advisory_xact_lock(" + 0x68656164 + ")");
      for (String ddl : HOME) execute(ddl);
      connection.commit();
    } catch (SQLException e) {
      connection.rollback();
      if (!"42501".equals(e.getSQLState())) throw e;
      throw new RefusedException(
          "the schema headrace is missing, and this user may not make it; an owner of the database"
              + " can, with: "
              + String.join("; ", HOME)
              + "; GRANT CREATE, USAGE ON SCHEMA headrace TO …; GRANT ALL ON headrace.marks TO …");
    } finally {
      connection.setAutoCommit(true);
    }
  }

  /**
   * A staging table of this run alone: no lock that a task of an earlier one may still have is in
   * its way.
   */
  private void stage() throws SQLException {
    String prefix = "stage_" + digest(query) + "_";
    for (String old : earlier(prefix)) drop("headrace." + Shape.quoted(old));
    staging = "headrace." + prefix + epoch;
    // The columns have the types of the table's, so that COPY reads them as these, and names the
    // column it can't.
    String columns =
        "0::bigint AS "
            + TASK
            + ", 0::bigint AS "
            + SEQUENCE
            + ", false AS "
            + DELETED
            + ", "
            + Shape.list(table.shape().names());
    String same = " AS SELECT " + columns + " FROM " + table.quoted() + " WITH NO DATA";
    execute("CREATE UNLOGGED TABLE " + staging + same);
    execute("CREATE TEMP TABLE held ON COMMIT DELETE ROWS" + same);
  }

  private List<String> earlier(String prefix) throws SQLException {
    List<String> names = new ArrayList<>();
    String look =
        "SELECT relname FROM pg_class WHERE relnamespace = 'headrace'::regnamespace AND relkind ="
            + " 'r' AND starts_with(relname, ?)";
    try (PreparedStatement statement = connection.prepareStatement(look)) {
      statement.setString(1, prefix);
      try (ResultSet row = statement.executeQuery()) {
        while (row.next()) names.add(row.getString(1));
      }
    }
    return names;
  }

  /** Unless a task of an earlier run still writes there: then a later run does it. */
  private void drop(String stage) {
    try {
      execute("SET lock_timeout = '1s'");
      execute("DROP TABLE IF EXISTS " + stage);
    } catch (SQLException ignored) {
      // It is in nobody's way.
    }
  }

  private static String digest(String text) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(Batch.utf8(text)), 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  private static String copy(String into) {
    return "COPY " + into + " FROM STDIN";
  }

  @Override
  public BatchWrite open(Batch batch) {
    return new Merge(batch);
  }

  private final class Merge implements BatchWrite {
    private final Batch batch;

    Merge(Batch batch) {
      this.batch = batch;
    }

    @Override
    public TaskWriter.Factory taskWriters() {
      return new PostgresTaskWriters(server, name(), copy(staging), table.shape());
    }

    @Override
    public boolean commit(List<Serializable> results, Mark mark) {
      List<PostgresTaskWriters.CopiedRows> tasks =
          results.stream()
              .map(PostgresTaskWriters.CopiedRows.class::cast)
              .filter(task -> task.rows() > 0)
              .toList();
      if (tasks.isEmpty()) return false;
      boolean staged = tasks.stream().anyMatch(task -> task.held() == null);
      try {
        connection.setAutoCommit(false);
        marks.hold(connection, query, epoch, name());
        merge(tasks, staged);
        Point.ROWS_SENT.reached(batch.number());
        marks.write(connection, query, mark);
        Point.MARK_SENT.reached(batch.number());
        connection.commit();
        Point.ANSWERED.reached(batch.number());
        connection.setAutoCommit(true);
        if (staged) clean();
        return true;
      } catch (SQLException e) {
        rollback();
        throw server.error(name(), e);
      } catch (RuntimeException e) {
        rollback();
        throw e;
      }
    }

    private void merge(List<PostgresTaskWriters.CopiedRows> tasks, boolean staged)
        throws SQLException {
      CopyIn copying = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(copy(HELD));
      for (PostgresTaskWriters.CopiedRows task : tasks)
        if (task.held() != null) copying.writeToCopy(task.held(), 0, task.held().length);
      copying.endCopy();
      Long[] ids =
          tasks.stream()
              .filter(task -> task.held() == null)
              .map(PostgresTaskWriters.CopiedRows::task)
              .toArray(Long[]::new);
      String source = "SELECT * FROM " + HELD;
      if (staged) {
        long expected =
            tasks.stream()
                .filter(task -> task.held() == null)
                .mapToLong(PostgresTaskWriters.CopiedRows::rows)
                .sum();
        count(ids, expected);
        source += " UNION ALL SELECT * FROM " + staging + " WHERE " + TASK + " = ANY(?)";
      }
      boolean deletes = tasks.stream().anyMatch(task -> task.deletes() > 0);
      String merge = table.shape().keyed() ? table.upsert(source, deletes) : table.append(source);
      try (PreparedStatement statement = connection.prepareStatement(merge)) {
        if (staged) statement.setArray(1, connection.createArrayOf("bigint", ids));
        statement.executeUpdate();
      }
    }

    private void count(Long[] ids, long expected) throws SQLException {
      try (PreparedStatement statement =
          connection.prepareStatement(
              "SELECT count(*) FROM " + staging + " WHERE " + TASK + " = ANY(?)")) {
        statement.setArray(1, connection.createArrayOf("bigint", ids));
        try (ResultSet row = statement.executeQuery()) {
          row.next();
          if (row.getLong(1) != expected)
            throw new SinkException(
                name() + ": of " + expected + " staged rows " + row.getLong(1) + " are there");
        }
      }
    }

    /** Rows that remain there are never merged: no other batch has their tasks. */
    private void clean() throws SQLException {
      try {
        execute("SET lock_timeout = '1s'");
        execute("TRUNCATE " + staging);
      } catch (SQLException ignored) {
        // A task that nobody waits for still writes.
      }
      execute("SET lock_timeout = 0");
    }

    @Override
    public void abort() {}
  }

  private void rollback() {
    try {
      connection.rollback();
    } catch (SQLException ignored) {
      // Without a connection the server does it.
    }
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Override
  public void close() {
    try (Connection closing = connection) {
      if (closing == null) return;
      if (!closing.getAutoCommit()) closing.setAutoCommit(true);
      if (staging != null) drop(staging);
    } catch (SQLException ignored) {
      // The next run cleans up.
    }
  }
}
