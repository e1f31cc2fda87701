package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** Makes what writes the rows of one task. */
public interface Pen extends Serializable {
  Lines lines(int partition);

  /** The rows of one task. */
  interface Lines {
    void write(InternalRow row);

    /** All rows are on their way; what is said here comes to {@link Writing#commit}. */
    Serializable finish();

    void abort();
  }
}
