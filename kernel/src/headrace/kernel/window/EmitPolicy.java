package headrace.kernel.window;

import java.io.Serializable;
import java.util.List;

/** When a key's windows are emitted, and when they are closed. */
sealed interface EmitPolicy extends Serializable permits EmitPerBatch, EmitAtSteps, EmitAtTicks {
  long NEVER = Long.MAX_VALUE;

  /**
   * Adds events, then emits everything due up to the watermark. Returns the event time at which
   * more is due, or {@link #NEVER}.
   */
  long run(KeyState known, List<Event> events, long watermark, Emitter out);
}
