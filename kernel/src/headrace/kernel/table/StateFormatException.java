package headrace.kernel.table;

/** State that another version of the kernel wrote, in a format that this one can't read. */
public final class StateFormatException extends RuntimeException {
  public StateFormatException(int found, int known) {
    super("HEADRACE_STATE_FORMAT found=" + found + " known=" + known);
  }
}
