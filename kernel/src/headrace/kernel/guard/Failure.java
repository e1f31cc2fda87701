package headrace.kernel.guard;

import headrace.kernel.BadRecordException;
import java.io.Serializable;
import org.apache.spark.TaskKilledException;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Why the guarded expressions of an operator failed on the row at hand. Each task has its own,
 * since it has its own copy of the plan.
 */
public final class Failure implements Serializable {
  private transient UTF8String cause;

  /** Notes what was thrown, or rethrows it if the row is not its cause. */
  public void note(Throwable thrown) {
    if (thrown instanceof TaskKilledException
        || thrown instanceof InterruptedException
        || thrown instanceof BadRecordException) raise(thrown);
    // A regular expression that recurses too deep on a long text is the row's fault as well.
    if (thrown instanceof Error && !(thrown instanceof StackOverflowError)) raise(thrown);
    if (cause == null) cause = UTF8String.fromString(text(thrown));
  }

  /** The cause, once; null where nothing failed. */
  public UTF8String take() {
    UTF8String taken = cause;
    if (taken != null) cause = null;
    return taken;
  }

  /** Spark's sentence, without its codes, its settings and the query. */
  static String text(Throwable thrown) {
    String message = thrown.getMessage();
    if (message == null || message.isBlank()) return thrown.getClass().getSimpleName();
    String line =
        message
            .strip()
            .split("\n", 2)[0]
            .replaceFirst("^\\[[A-Z0-9_.]+]\\s*", "")
            .replaceFirst("\\s*SQLSTATE: \\w+\\s*$", "");
    line =
        line.replaceFirst(
            " If necessary,? set \"?spark\\.[^ ]+ to [^ ]+ to bypass this error\\.?", "");
    return message.startsWith("[") ? line : thrown.getClass().getSimpleName() + ": " + line;
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void raise(Throwable thrown) throws E {
    throw (E) thrown;
  }
}
