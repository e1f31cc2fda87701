package headrace.kernel.sink.python;

import headrace.kernel.sink.Shape;
import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The rows of a batch in a file, in Arrow's stream format. However many there are, memory holds one
 * record batch of them, here and where the file is mapped.
 */
final class RowFile implements AutoCloseable {
  private static final int ROWS = 10_000, BYTES = 8 << 20;
  private static final UTF8String UPSERT = UTF8String.fromString("upsert"),
      DELETE = UTF8String.fromString("delete");

  final Path path;
  private final BufferAllocator allocator =
      ArrowUtils.rootAllocator().newChildAllocator("rows for a writer", 0, Long.MAX_VALUE);
  private final VectorSchemaRoot root;
  private final ArrowWriter rows;
  private final OutputStream out;
  private final ArrowStreamWriter batches;
  private final JoinedRow joined = new JoinedRow();
  private final GenericInternalRow op;
  private int count = 0;
  private long bytes = 0;

  /**
   * {@code changes}: whether rows replace and delete each other; then the column _op says which.
   */
  RowFile(Shape shape, boolean changes) throws IOException {
    StructType type = changes ? shape.type().add("_op", DataTypes.StringType, false) : shape.type();
    // Only its owner can read it.
    path = Files.createTempFile("headrace-rows", ".arrow");
    // Not a channel, which an interrupt would close.
    out = new BufferedOutputStream(new FileOutputStream(path.toFile()), 1 << 16);
    root =
        VectorSchemaRoot.create(
            ArrowUtils.toArrowSchema(type, "UTC", true, false, false), allocator);
    rows = ArrowWriter.create(root);
    batches = new ArrowStreamWriter(root, null, out);
    batches.start();
    op = changes ? new GenericInternalRow(1) : null;
  }

  void add(UnsafeRow row, boolean deleted) throws IOException {
    rows.write(changed(row, deleted));
    count++;
    bytes += row.getSizeInBytes();
    if (count >= ROWS || bytes >= BYTES) flush();
  }

  private InternalRow changed(InternalRow row, boolean deleted) {
    if (op == null) return row;
    op.update(0, deleted ? DELETE : UPSERT);
    return joined.apply(row, op);
  }

  private void flush() throws IOException {
    rows.finish();
    batches.writeBatch();
    rows.reset();
    count = 0;
    bytes = 0;
  }

  /** All rows are in it. */
  void finish() throws IOException {
    if (count > 0) flush();
    batches.end();
    out.flush();
  }

  @Override
  public void close() throws IOException {
    try (allocator;
        root;
        out) {
      Files.deleteIfExists(path);
    }
  }
}
