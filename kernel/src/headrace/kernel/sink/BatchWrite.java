package headrace.kernel.sink;

import java.io.Serializable;
import java.util.List;

/** A batch that is being written to a destination, on the driver. */
public interface BatchWrite {
  /** Makes the tasks' writers; serialized to them. */
  TaskWriter.Factory taskWriters();

  /**
   * Makes the rows and the mark of the batch visible, both or none. After an exception the outcome
   * is unknown: the next run reads the mark.
   *
   * @param results what the tasks left, in the order of their partitions
   * @return whether there was something to write; otherwise no mark was written either
   */
  boolean commit(List<Serializable> results, Mark mark);

  void abort();
}
