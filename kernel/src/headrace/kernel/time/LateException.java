package headrace.kernel.time;

/**
 * An event whose window is closed, with late="fail". Python recognizes it by the first word of its
 * message.
 */
public final class LateException extends RuntimeException {
  LateException(long end, long watermark) {
    super("HEADRACE_LATE end=" + end + " watermark=" + watermark);
  }
}
