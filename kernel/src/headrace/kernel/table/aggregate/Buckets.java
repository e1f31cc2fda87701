package headrace.kernel.table.aggregate;

/**
 * Buckets of numbers, each as wide as 2% of its values, so that one value in it stands for all with
 * an error of 1%. Their numbers are in the order of their values, NaN last; 0, the infinities and
 * NaN have buckets of their own.
 */
final class Buckets {
  private static final double ERROR = 0.01;
  private static final double STEP = Math.log((1 + ERROR) / (1 - ERROR));

  /** From a bucket's upper end to the value that is equally far from both ends, as a logarithm. */
  private static final double MIDDLE = Math.log(1 - ERROR);

  /** More than there are buckets on either side of 1. */
  private static final int ONE = 40_000;

  private static final int INFINITE = 100_000;
  private static final int NOT_A_NUMBER = INFINITE + 1;

  private Buckets() {}

  static int of(double value) {
    if (value == 0) return 0;
    if (Double.isNaN(value)) return NOT_A_NUMBER;
    int bucket =
        Double.isInfinite(value)
            ? INFINITE
            : ONE + (int) Math.ceil(Math.log(Math.abs(value)) / STEP);
    return value < 0 ? -bucket : bucket;
  }

  /** The value that stands for a bucket. */
  static double value(int bucket) {
    if (bucket == 0) return 0;
    if (bucket == NOT_A_NUMBER) return Double.NaN;
    if (Math.abs(bucket) == INFINITE)
      return bucket > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    double value = Math.min(Double.MAX_VALUE, Math.exp((Math.abs(bucket) - ONE) * STEP + MIDDLE));
    return bucket > 0 ? value : -value;
  }
}
