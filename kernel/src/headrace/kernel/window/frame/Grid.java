package headrace.kernel.window.frame;

/** Windows that exist whether they have events or not. */
public sealed interface Grid extends Frames permits Fixed, Calendar, Cumulating {
  /** When the next window ends, after this time. */
  long nextEnd(long time);
}
