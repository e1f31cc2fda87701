package headrace.kernel.log;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the sources of one query in step. Spark asks each source in turn how far the next batch
 * reaches; a cut between two of these calls must not reach some sources and not others, so the
 * first call decides for all.
 */
final class Lockstep {
  private final MemoryLog log;
  private final Map<Object, String> topics = new HashMap<>();
  private final Set<Object> asked = new HashSet<>();
  private int last;
  private boolean fixed;

  Lockstep(MemoryLog log) {
    this.log = log;
  }

  synchronized void join(Object source, String topic) {
    topics.put(source, topic);
    asked.clear();
    fixed = false;
  }

  synchronized void leave(Object source) {
    topics.remove(source);
    if (topics.isEmpty()) log.forget(this);
  }

  /** From now on the log ends here for this query. */
  synchronized void fix() {
    if (!fixed) last = log.closeInterval();
    fixed = true;
  }

  /**
   * The cut the source steps to from this one: the next that brings the query something, or the
   * same.
   */
  synchronized int next(Object source, int cut) {
    boolean again = !asked.add(source);
    if (again) {
      asked.clear();
      asked.add(source);
    }
    if (asked.size() == 1 && !fixed) last = log.lastCut();
    Integer next = log.cutAfter(cut, last, topics.values());
    return next == null ? cut : next;
  }
}
