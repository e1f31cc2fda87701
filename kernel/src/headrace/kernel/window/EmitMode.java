package headrace.kernel.window;

/** When a window is emitted. */
public enum EmitMode {
  /**
   * After each batch with events of it; a sliding window that ends after the newest event, when the
   * watermark reaches its end.
   */
  UPDATES,
  /** Once, when the watermark passes its end. */
  FINAL,
  /** Both. */
  ALL,
  /**
   * As it was at each tick of the watermark, and at its end. Not for sliding windows, which have no
   * ticks.
   */
  EVERY
}
