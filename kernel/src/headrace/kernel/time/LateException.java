package headrace.kernel.time;

/**
 * An event for a window that is closed, where late="fail". Python finds it by the first word of its
 * message.
 */
public final class LateException extends RuntimeException {
  LateException(long end, long watermark) {
    super("HEADRACE_LATE end=" + end + " watermark=" + watermark);
  }
}
