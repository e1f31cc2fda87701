package headrace.kernel.sink.sqlite;

import headrace.kernel.sink.Context;
import headrace.kernel.sink.Options;

/**
 * The outbox of an application's effects; with {@code keyed} the records' keys are the ids of their
 * rows.
 */
public final class OutboxDestination extends SqliteDestination {
  public OutboxDestination(Context context, Options options) {
    super(
        context,
        options.text("file"),
        new SqliteOutbox(context.mark(), options.text("effect"), options.flag("keyed")));
  }
}
