package headrace.kernel.account;

/** What is noted of a record. Of several, the first in this order is what became of it. */
public enum Fate {
  /** It came from the log. */
  READ,
  /** Something of it can't be used. */
  BAD,
  /** It reached what keeps state, or the output. */
  TAKEN,
  /** A window or a join was closed to it. */
  LATE,
  /** A condition did not hold, or there was nothing in it. */
  FILTERED
}
