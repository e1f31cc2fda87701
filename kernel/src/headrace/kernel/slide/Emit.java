package headrace.kernel.slide;

/** When a window is told. */
enum Emit {
  /** Once, when the watermark has reached its end. */
  FINAL,
  /** With each batch that makes or changes it; those that end after the newest event, when the watermark has reached them. */
  UPDATES,
  /** Both. */
  ALL
}
