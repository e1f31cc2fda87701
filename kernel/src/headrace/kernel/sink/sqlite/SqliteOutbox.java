package headrace.kernel.sink.sqlite;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BufferedBatch;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Rows that become effects. Each has an id and is inserted once: the record's key, or derived from
 * the row itself, so that a batch that is written again has the same ids in any order of its rows.
 */
record SqliteOutbox(String query, String effect, boolean keyed)
    implements SqliteDestination.Target {
  @Override
  public String name() {
    return "the outbox";
  }

  @Override
  public String place() {
    return "the outbox";
  }

  @Override
  public String marks() {
    return "marks";
  }

  @Override
  public BufferedBatch.Writers writers(String sink, int index) {
    return new BufferedBatch.Writers(sink, index, keyed, true, null);
  }

  @Override
  public void begin(Connection connection) {}

  @Override
  public boolean missing(Connection connection) {
    return false;
  }

  @Override
  public void empty(Connection connection) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("DELETE FROM outbox WHERE effect = ?")) {
      statement.setString(1, effect);
      statement.executeUpdate();
    }
  }

  @Override
  public void write(
      Connection connection, Batch batch, BufferedBatch buffered, List<Serializable> results)
      throws SQLException {
    long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    Map<ByteBuffer, Integer> seen = new HashMap<>();
    String insert =
        "INSERT INTO outbox(id, effect, row, created) VALUES (?, ?, ?, ?) ON CONFLICT(id) DO"
            + " NOTHING";
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      buffered.<SQLException>forEach(
          results,
          0,
          (key, value, deleted, row) -> {
            // A deleted row has no effect.
            if (deleted || value == null) return;
            // Of rows without an id nobody can say which are the same: each is one of its own.
            String id =
                keyed && key != null
                    ? Batch.text(key)
                    : id(
                        batch.number(),
                        value,
                        seen.merge(ByteBuffer.wrap(value), 1, Integer::sum) - 1);
            statement.setString(1, id);
            statement.setString(2, effect);
            statement.setString(3, Batch.text(value));
            statement.setLong(4, now);
            statement.executeUpdate();
          });
    }
  }

  private String id(long batch, byte[] value, int occurrence) {
    try {
      MessageDigest sum = MessageDigest.getInstance("SHA-256");
      sum.update(Batch.utf8(query + "\0" + batch + "\0" + occurrence + "\0"));
      return HexFormat.of().formatHex(sum.digest(value), 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
