package headrace.kernel;

/**
 * A record that can't be decoded, under `bad="fail"`. Python reads the message: keep its shape, and
 * keep it on one line.
 */
public final class BadRecordException extends RuntimeException {
  public BadRecordException(String topic, int partition, long offset, String cause) {
    super(
        "HEADRACE_BAD_RECORD topic="
            + topic
            + " partition="
            + partition
            + " offset="
            + offset
            + " cause="
            + cause);
  }
}
