package headrace.kernel.account;

/** The fate of a record. If several are noted, READ apart, the first in this order counts. */
public enum Fate {
  /** It came from the log. */
  READ,
  /** Part of it can't be used. */
  BAD,
  /** It reached an operator with state, or the output. */
  TAKEN,
  /** A window or a join was closed to it. */
  LATE,
  /** A condition did not hold, or it was empty. */
  FILTERED
}
