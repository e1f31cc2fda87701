package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes the rows of one task to one destination. */
public interface TaskWriter {
  void write(InternalRow row);

  /** After the last row. The result is passed to {@link BatchWrite#commit}. */
  Serializable finish();

  void abort();

  /** Serialized to the tasks; makes the writer of each. */
  interface Factory extends Serializable {
    TaskWriter open(int partition);
  }
}
