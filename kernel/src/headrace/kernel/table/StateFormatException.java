package headrace.kernel.table;

/** State that another kernel wrote, in a form that this one does not know. */
public final class StateFormatException extends RuntimeException {
  public StateFormatException(int found, int known) {
    super("HEADRACE_STATE_FORMAT found=" + found + " known=" + known);
  }
}
