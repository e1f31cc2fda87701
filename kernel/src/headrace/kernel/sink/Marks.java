package headrace.kernel.sink;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * The marks in a SQL database: a row for each query. Each run of the query raises its epoch, and
 * every transaction of a run first locks the row and checks that the epoch is still its own.
 *
 * @param table their table
 * @param hold the clause after a SELECT that locks the row
 */
public record Marks(String table, String hold) {
  public record Begun(long epoch, Mark mark) {}

  /** The columns, with the types of this database. */
  public static String columns(String text, String number) {
    return "query %1$s PRIMARY KEY, checkpoint %1$s, batch %2$s, hash %1$s, rows %2$s, epoch %2$s NOT NULL DEFAULT 0"
        .formatted(text, number);
  }

  /** Fences earlier runs. Waits for a transaction that has begun already. */
  public Begun begin(Connection connection, String query) throws SQLException {
    String raise =
        "INSERT INTO "
            + table
            + " AS m (query, epoch) VALUES (?, 1) ON CONFLICT (query) DO UPDATE SET epoch = m.epoch"
            + " + 1 RETURNING epoch, checkpoint, batch, hash, rows";
    try (PreparedStatement statement = connection.prepareStatement(raise)) {
      statement.setString(1, query);
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        String checkpoint = row.getString(2);
        Mark mark =
            checkpoint == null
                ? null
                : new Mark(checkpoint, row.getLong(3), row.getString(4), row.getLong(5));
        return new Begun(row.getLong(1), mark);
      }
    }
  }

  /** To be called first in the transaction of a batch. */
  public void hold(Connection connection, String query, long epoch, String destination)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("SELECT epoch FROM " + table + " WHERE query = ?" + hold)) {
      statement.setString(1, query);
      try (ResultSet row = statement.executeQuery()) {
        if (!row.next() || row.getLong(1) != epoch) throw replaced(query, destination);
      }
    }
  }

  public static RefusedException replaced(String query, String destination) {
    return new RefusedException(
        "another run of "
            + query
            + " writes to "
            + destination
            + " now; this one has written nothing since");
  }

  /** Also fences earlier runs. */
  public void forget(Connection connection, String query) throws SQLException {
    begin(connection, query);
    String clear =
        "UPDATE "
            + table
            + " SET checkpoint = NULL, batch = NULL, hash = NULL, rows = NULL WHERE query = ?";
    try (PreparedStatement statement = connection.prepareStatement(clear)) {
      statement.setString(1, query);
      statement.executeUpdate();
    }
  }

  public void write(Connection connection, String query, Mark mark) throws SQLException {
    String set =
        "UPDATE " + table + " SET checkpoint = ?, batch = ?, hash = ?, rows = ? WHERE query = ?";
    try (PreparedStatement statement = connection.prepareStatement(set)) {
      statement.setString(1, mark.checkpoint());
      statement.setLong(2, mark.batch());
      statement.setString(3, mark.hash());
      statement.setLong(4, mark.rows());
      statement.setString(5, query);
      statement.executeUpdate();
    }
  }
}
