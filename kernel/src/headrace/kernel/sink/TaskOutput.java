package headrace.kernel.sink;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.storage.StreamBlockId;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Option;
import scala.reflect.ClassTag$;

/**
 * A task's output from an executor to the driver. A little travels with the task's result. More is
 * stored in pieces on the executor's disk, in Spark's block store, and the driver fetches one piece
 * at a time: neither ever holds a whole batch in memory, however large it is.
 */
public final class TaskOutput extends OutputStream {
  private static final int PIECE = 4 << 20, IN_RESULT = 256 << 10;

  private final int index;
  private final List<BlockId> pieces = new ArrayList<>();
  private final ByteArrayOutputStream piece = new ByteArrayOutputStream();

  /** {@code index} is its place among those of the sink. */
  public TaskOutput(int index) {
    this.index = index;
  }

  @Override
  public void write(int b) {
    piece.write(b);
    if (piece.size() >= PIECE) store();
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    piece.write(bytes, offset, length);
    if (piece.size() >= PIECE) store();
  }

  private void store() {
    // Unique in the application: Spark numbers the attempts of all its tasks, and a task has fewer
    // than a million pieces (4 TB).
    BlockId id = new StreamBlockId(index, TaskContext.get().taskAttemptId() << 20 | pieces.size());
    BlockManager blocks = SparkEnv.get().blockManager();
    ChunkedByteBuffer bytes = new ChunkedByteBuffer(ByteBuffer.wrap(piece.toByteArray()));
    Option<Object> fifth = blocks.<Object>putBytes$default$5();
    boolean stored =
        blocks.putBytes(
            id,
            bytes,
            StorageLevel.DISK_ONLY(),
            true,
            fifth,
            blocks.<Object>putBytes$default$6(),
            ClassTag$.MODULE$.apply(byte[].class));
    if (!stored) throw new SinkException("the executor's disk does not take the rows of a task");
    pieces.add(id);
    piece.reset();
  }

  /** All is written. */
  public Stored finish() {
    if (piece.size() > IN_RESULT) store();
    return new Stored(List.copyOf(pieces), piece.toByteArray());
  }

  /** The task failed. */
  public void abort() {
    for (BlockId id : pieces) SparkEnv.get().blockManager().removeBlock(id, true);
  }

  /** A task's output as the driver reads it: pieces to fetch, and what came with the result. */
  public record Stored(List<BlockId> pieces, byte[] rest) implements Serializable {
    /**
     * All of it, once: a piece is fetched when the one before it is read, and removed from the
     * executor.
     */
    public InputStream open() {
      return new SequenceInputStream(
          new Enumeration<>() {
            private int at = 0;

            @Override
            public boolean hasMoreElements() {
              return at <= pieces.size();
            }

            @Override
            public InputStream nextElement() {
              int next = at++;
              return next < pieces.size()
                  ? fetched(pieces.get(next))
                  : new ByteArrayInputStream(rest);
            }
          });
    }

    private static InputStream fetched(BlockId id) {
      BlockManager blocks = SparkEnv.get().blockManager();
      Option<ChunkedByteBuffer> found = blocks.getRemoteBytes(id);
      if (found.isEmpty())
        throw new SinkException(
            "an executor was lost with the rows of a task that were not written yet");
      blocks.master().removeBlock(id);
      return found.get().toInputStream(true);
    }

    /** After an abort: removes the pieces. */
    void drop() {
      for (BlockId id : pieces) SparkEnv.get().blockManager().master().removeBlock(id);
    }
  }
}
