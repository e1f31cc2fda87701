package headrace.kernel.sink;

import java.io.Serializable;
import java.util.List;

/** A batch on its way into an end, on the driver. */
public interface Writing {
  /** What tasks write with; it travels to them. */
  Pen pen();

  /**
   * Makes the rows and the mark of the batch visible, both or none. An exception leaves open which: the next run asks.
   *
   * @param notes what the tasks left, in the order of their partitions
   * @return whether there was something to write; else there is no mark either
   */
  boolean commit(List<Serializable> notes, Mark mark);

  void abort();
}
