package headrace.kernel.sink.sqlite;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.BufferedBatch;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.MarkException;
import headrace.kernel.sink.Marks;
import headrace.kernel.sink.Options;
import headrace.kernel.sink.Point;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.SinkException;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import org.sqlite.JDBC;
import org.sqlite.SQLiteException;

/**
 * A table in a SQLite file on the driver's machine. A batch is one short transaction at its end.
 */
public class SqliteDestination implements Destination {
  /** What is written in the transaction of a batch. */
  interface Target {
    String name();

    /** What the file is. */
    String place();

    String marks();

    BufferedBatch.Writers writers(String sink, int index);

    void begin(Connection connection) throws SQLException;

    /** Whether its table is missing. */
    boolean missing(Connection connection) throws SQLException;

    /** Deletes all rows. */
    void empty(Connection connection) throws SQLException;

    void write(
        Connection connection, Batch batch, BufferedBatch buffered, List<Serializable> results)
        throws SQLException;
  }

  private final String sink;
  private final int index;
  private final String file;
  private final String query;
  private final Target target;
  private final Marks marks;
  private Connection connection;
  private long epoch;

  public SqliteDestination(Context context, Options options) {
    this(
        context,
        options.text("file"),
        new SqliteTable(options.text("table"), context.shape(), options.flag("create")));
  }

  SqliteDestination(Context context, String file, Target target) {
    this.sink = context.sink();
    this.index = context.index();
    this.query = context.mark();
    this.file = file;
    this.target = target;
    this.marks = new Marks(target.marks(), "");
  }

  @Override
  public String name() {
    return target.name();
  }

  @Override
  public String id() {
    return query;
  }

  @Override
  public String place() {
    return target.place() + " " + file;
  }

  @Override
  public Mark begin() {
    try {
      connection = connect();
      return transaction(this::begun);
    } catch (SQLException e) {
      throw error(e);
    }
  }

  private Mark begun() throws SQLException {
    home();
    Marks.Begun begun = marks.begin(connection, query);
    epoch = begun.epoch();
    if (begun.mark() != null && target.missing(connection))
      throw MarkException.cut(name() + " is gone from " + place(), begun.mark());
    target.begin(connection);
    return begun.mark();
  }

  private void home() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE TABLE IF NOT EXISTS "
              + target.marks()
              + "("
              + Marks.columns("TEXT", "INTEGER")
              + ")");
      boolean known;
      try (ResultSet found =
          statement.executeQuery(
              "SELECT 1 FROM pragma_table_info('" + target.marks() + "') WHERE name = 'epoch'")) {
        known = found.next();
      }
      // The marks of an outbox are made by its owner, who knows nothing of runs.
      if (!known)
        statement.execute(
            "ALTER TABLE " + target.marks() + " ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0");
    }
  }

  private Connection connect() throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("journal_mode", "WAL");
    properties.setProperty("synchronous", "FULL");
    properties.setProperty("busy_timeout", "30000");
    properties.setProperty("cache_size", "-65536"); // KiB
    // A transaction that begins by reading could not go on to write after somebody else has.
    properties.setProperty("transaction_mode", "IMMEDIATE");
    // Else every row is followed by a query for its id.
    properties.setProperty("jdbc.get_generated_keys", "false");
    // Not by DriverManager: it does not see what Spark has loaded.
    return new JDBC().connect(JDBC.PREFIX + file, properties);
  }

  @Override
  public BatchWrite open(Batch batch) {
    return new BufferedBatch(target.writers(sink, index)) {
      @Override
      public boolean commit(List<Serializable> results, Mark mark) {
        if (mark.rows() == 0) return false;
        try {
          transaction(
              () -> {
                marks.hold(connection, query, epoch, name());
                target.write(connection, batch, this, results);
                Point.ROWS_SENT.reached(batch.number());
                marks.write(connection, query, mark);
                Point.MARK_SENT.reached(batch.number());
                return null;
              });
          Point.ANSWERED.reached(batch.number());
          return true;
        } catch (SQLException e) {
          throw error(e);
        } finally {
          drop();
        }
      }
    };
  }

  @Override
  public void forget() {
    try (Connection own = connect()) {
      connection = own;
      transaction(
          () -> {
            home();
            marks.forget(connection, query);
            return null;
          });
    } catch (SQLException e) {
      throw error(e);
    }
  }

  @Override
  public void empty() {
    try (Connection own = connect()) {
      connection = own;
      transaction(
          () -> {
            if (!target.missing(connection)) target.empty(connection);
            return null;
          });
    } catch (SQLException e) {
      throw error(e);
    }
  }

  private interface Work<T> {
    T run() throws SQLException;
  }

  private <T> T transaction(Work<T> work) throws SQLException {
    connection.setAutoCommit(false);
    try {
      T result = work.run();
      connection.commit();
      return result;
    } catch (SQLException | RuntimeException e) {
      try {
        connection.rollback();
      } catch (SQLException ignored) {
        // The first failure is the cause.
      }
      throw e;
    } finally {
      connection.setAutoCommit(true);
    }
  }

  private RuntimeException error(SQLException e) {
    String text = name() + " in " + file + ": " + e.getMessage();
    int code = e instanceof SQLiteException known ? known.getResultCode().code & 0xff : -1;
    return switch (code) {
      // SQLITE_ERROR, READONLY, CANTOPEN, CONSTRAINT, MISMATCH, NOTADB
      case 1, 8, 14, 19, 20, 26 -> RefusedException.of(text, e);
      default -> SinkException.of(text, e);
    };
  }

  @Override
  public void close() {
    try {
      if (connection != null) connection.close();
    } catch (SQLException ignored) {
      // Nothing is open in it.
    }
  }
}
