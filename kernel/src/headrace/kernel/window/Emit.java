package headrace.kernel.window;

/** When a window is told. */
public enum Emit {
  /** After each batch that brought events of it. */
  UPDATES,
  /** Once, when the watermark passes its end. */
  FINAL,
  /** Both. */
  ALL,
  /** As it was at each tick of the watermark, and at its end. */
  EVERY
}
