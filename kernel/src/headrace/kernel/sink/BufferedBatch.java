package headrace.kernel.sink;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.commons.io.output.DeferredFileOutputStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A batch whose rows are buffered until all its tasks are done; then the driver writes them in one
 * go. Only the rows of successful attempts of tasks count. In the driver's process large tasks
 * buffer their rows in a file; on a cluster the rows wait at the executor ({@link TaskOutput}).
 */
public abstract class BufferedBatch implements BatchWrite {
  private static final int IN_MEMORY = 16 << 20;

  private final TaskWriter.Factory writers;
  private final AtomicLong last = new AtomicLong();
  private final Map<Long, DeferredFileOutputStream> kept = new ConcurrentHashMap<>();

  public BufferedBatch(TaskWriter.Factory writers) {
    this.writers = writers;
  }

  @Override
  public TaskWriter.Factory taskWriters() {
    return writers;
  }

  public interface Taker<E extends Exception> {
    void take(byte[] key, byte[] value, boolean deleted, InternalRow row) throws E;
  }

  /**
   * The rows in the order of their partitions, and within these in that of arrival; a row is valid
   * until the next one.
   */
  public <E extends Exception> void forEach(List<Serializable> results, int fields, Taker<E> taker)
      throws E {
    UnsafeRow row = new UnsafeRow(fields);
    for (Serializable result : results) {
      try (DataInputStream in =
          new DataInputStream(new BufferedInputStream(opened(result), 1 << 16))) {
        for (int parts = in.read(); parts >= 0; parts = in.read()) {
          byte[] key = (parts & KEY) == 0 ? null : field(in);
          byte[] value = (parts & VALUE) == 0 ? null : field(in);
          byte[] cells = (parts & ROW) == 0 ? null : field(in);
          if (cells != null) row.pointTo(cells, cells.length);
          taker.take(key, value, (parts & DELETED) != 0, cells == null ? null : row);
        }
      } catch (IOException e) {
        throw new SinkException("the rows of a task can't be read: " + e.getMessage(), e);
      }
    }
  }

  private InputStream opened(Serializable result) throws IOException {
    if (result instanceof TaskOutput.Stored left) return left.open();
    DeferredFileOutputStream rows = kept.get((Long) result);
    if (rows == null) throw new SinkException("the rows of a task are not there");
    return rows.toInputStream();
  }

  private static byte[] field(DataInputStream in) throws IOException {
    return in.readNBytes(in.readInt());
  }

  private long keep(DeferredFileOutputStream rows) {
    long id = last.incrementAndGet();
    kept.put(id, rows);
    return id;
  }

  /** Deletes the buffers, once the batch is written or aborted. */
  public void drop() {
    kept.values().forEach(BufferedBatch::delete);
    kept.clear();
  }

  @Override
  public void abort() {
    drop();
  }

  private static void delete(DeferredFileOutputStream rows) {
    File file = rows.isInMemory() ? null : rows.getFile();
    if (file != null) file.delete();
  }

  private static final int DELETED = 1, KEY = 2, VALUE = 4, ROW = 8;

  /**
   * @param keys whether records' keys are wanted
   * @param values whether records' values are
   * @param shape of the rows themselves; null if they are not wanted
   */
  public record Writers(String sink, int index, boolean keys, boolean values, Shape shape)
      implements TaskWriter.Factory {
    @Override
    public TaskWriter open(int partition) {
      return new BufferedWriter(this, Destinations.find(sink));
    }
  }

  private static final class BufferedWriter implements TaskWriter {
    private final Writers writers;
    private final Destinations here;

    /** One of the two: a file of the driver's process, or an executor's output for it. */
    private final DeferredFileOutputStream kept;

    private final TaskOutput left;
    private final DataOutputStream out;
    private UnsafeProjection unsafe;

    BufferedWriter(Writers writers, Destinations here) {
      this.writers = writers;
      this.here = here;
      kept =
          here == null
              ? null
              : DeferredFileOutputStream.builder()
                  .setThreshold(IN_MEMORY)
                  .setPrefix("headrace-batch")
                  .get();
      left = here == null ? new TaskOutput(writers.index) : null;
      out = new DataOutputStream(here == null ? left : kept);
    }

    @Override
    public void write(InternalRow row) {
      if (!Rows.own(row)) return;
      byte[] key = writers.keys ? Rows.key(row) : null;
      byte[] value = writers.values ? Rows.value(row) : null;
      byte[] cells = writers.shape == null ? null : cells(Rows.row(row, writers.shape.fields()));
      try {
        int deleted = Rows.deleted(row) ? DELETED : 0;
        out.write(
            deleted
                | (key == null ? 0 : KEY)
                | (value == null ? 0 : VALUE)
                | (cells == null ? 0 : ROW));
        field(key);
        field(value);
        field(cells);
      } catch (IOException e) {
        throw new SinkException("the rows of a batch can't be kept: " + e.getMessage(), e);
      }
    }

    private byte[] cells(InternalRow row) {
      if (row instanceof UnsafeRow same) return same.getBytes();
      if (unsafe == null) unsafe = UnsafeProjection.create(writers.shape.type());
      return unsafe.apply(row).getBytes();
    }

    private void field(byte[] value) throws IOException {
      if (value == null) return;
      out.writeInt(value.length);
      out.write(value);
    }

    @Override
    public Serializable finish() {
      try {
        out.close();
      } catch (IOException e) {
        throw new SinkException("the rows of a batch can't be kept: " + e.getMessage(), e);
      }
      if (left != null) return left.finish();
      if (!(here.batchWrite(writers.index) instanceof BufferedBatch batch))
        throw new SinkException("the batch was given up");
      return batch.keep(kept);
    }

    @Override
    public void abort() {
      if (left != null) left.abort();
      else delete(kept);
    }
  }
}
