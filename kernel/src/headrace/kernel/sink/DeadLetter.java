package headrace.kernel.sink;

import java.io.Serializable;

/** A record that a query can't use: where it is in the log, what refused it, and why. */
public record DeadLetter(String topic, int partition, long offset, String operator, String cause)
    implements Serializable {
  public String id() {
    return topic + "/" + partition + "/" + offset;
  }
}
