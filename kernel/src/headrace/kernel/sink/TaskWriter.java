package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes the rows of one task to one destination. */
public interface TaskWriter {
  void write(InternalRow row);

  /** All rows are on their way. {@link BatchWrite#commit} gets what this returns. */
  Serializable finish();

  void abort();

  /** Travels to the tasks, and makes each its writer. */
  interface Factory extends Serializable {
    TaskWriter open(int partition);
  }
}
