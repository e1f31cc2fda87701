package headrace.kernel.sink.postgres;

import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Rows;
import headrace.kernel.sink.Shape;
import headrace.kernel.sink.SinkException;
import headrace.kernel.sink.TaskWriter;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.sql.catalyst.InternalRow;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;

/**
 * Rows of one task, as COPY takes them. A few travel with the task's report, and the driver copies
 * them; more are copied into the staging table over a connection of the task's own. Each attempt of
 * a task has a unique number, by which the batch selects the rows that count.
 */
record PostgresTaskWriters(PostgresServer server, String destination, String copy, Shape shape)
    implements TaskWriter.Factory {
  private static final int FEW = 256 << 10;

  /**
   * @param held the rows, or null if they are staged
   */
  record CopiedRows(long task, long rows, long deletes, byte[] held) implements Serializable {}

  @Override
  public TaskWriter open(int partition) {
    return new CopyWriter();
  }

  private final class CopyWriter implements TaskWriter {
    private final CopyText text = new CopyText(shape, destination);
    private final int[] key = shape.places();
    private final long task = ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);
    private long rows = 0;
    private long deletes = 0;
    private Connection connection;
    private CopyIn copying;

    @Override
    public void write(InternalRow row) {
      if (!Rows.own(row)) return;
      boolean deleted = Rows.deleted(row);
      if (deleted && key.length == 0)
        throw new RefusedException(destination + " has no key, and a row was deleted");
      InternalRow cells = Rows.row(row, shape.fields());
      Shape.checkKey(cells, key, shape.type(), destination);
      text.add(task, rows, deleted, cells);
      rows++;
      if (deleted) deletes++;
      if (text.size >= FEW) flush();
    }

    private void flush() {
      try {
        if (copying == null) {
          connection = server.connect();
          copying = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(copy);
        }
        copying.writeToCopy(text.bytes, 0, text.size);
        text.size = 0;
      } catch (SQLException e) {
        throw server.error(destination, e);
      }
    }

    @Override
    public Serializable finish() {
      if (copying == null)
        return new CopiedRows(task, rows, deletes, Arrays.copyOf(text.bytes, text.size));
      try {
        flush();
        long taken = copying.endCopy();
        connection.close();
        if (taken != rows)
          throw new SinkException(destination + ": of " + rows + " rows " + taken + " were taken");
        return new CopiedRows(task, rows, deletes, null);
      } catch (SQLException e) {
        throw server.error(destination, e);
      }
    }

    @Override
    public void abort() {
      try {
        if (copying != null && copying.isActive()) copying.cancelCopy();
        if (connection != null) connection.close();
      } catch (SQLException ignored) {
        // Rows that arrived are never reported, so they don't count.
      }
    }
  }
}
