package headrace.kernel.window;

import java.io.Serializable;
import java.util.List;

/** When a key's windows are told, and when they are closed. */
sealed interface Telling extends Serializable permits Batches, Steps, Ticks {
  long NEVER = Long.MAX_VALUE;

  /** Adds events, then tells what is to be told up to the watermark. Returns when there is more to do, by the events' clock. */
  long run(Known known, List<Event> events, long watermark, Teller out);
}
