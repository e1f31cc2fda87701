package headrace.kernel.sink;

import java.io.Serializable;
import java.util.List;

/** A batch on its way into a destination, on the driver. */
public interface BatchWrite {
  /** What tasks write with; it travels to them. */
  TaskWriter.Factory taskWriters();

  /**
   * Makes the rows and the mark of the batch visible, both or none. An exception leaves open which:
   * the next run asks.
   *
   * @param results what the tasks left, in the order of their partitions
   * @return whether there was something to write; else there is no mark either
   */
  boolean commit(List<Serializable> results, Mark mark);

  void abort();
}
