package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Variance and standard deviation, of doubles: Spark casts. Keeps the number of values, their sum
 * and the sum of their squares, both exact, so that a retracted value leaves nothing behind.
 */
final class Moments extends Accumulator {
  /** Below it every whole number is a double. */
  private static final long EXACT = 1L << 53;

  /** Whole numbers up to it have squares of which thousands can be added up. */
  private static final long SMALL = 1L << 25;

  private static final long ROOM = 1L << 62;

  private long count;
  private long notFinite;
  private long sum;
  private long squares;

  /** The sums of what is not a small whole number. */
  private Binary realSum = Binary.ZERO;

  private Binary realSquares = Binary.ZERO;

  Moments(Call call) {
    super(call);
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    if (row.isNullAt(call.first())) return;
    double value = row.getDouble(call.first());
    count += by;
    if (!Double.isFinite(value)) notFinite += by;
    else if (value == (long) value && Math.abs(value) <= SMALL && Math.abs(squares) < ROOM)
      whole((long) value, by);
    else real(Binary.of(value), by);
  }

  private void whole(long value, int by) {
    sum += by * value;
    squares += by * value * value;
  }

  private void real(Binary value, int by) {
    Binary square = value.times(value);
    realSum = by > 0 ? realSum.plus(value) : realSum.minus(value);
    realSquares = by > 0 ? realSquares.plus(square) : realSquares.minus(square);
  }

  @Override
  Object result() {
    boolean sample = call.kind() == Call.Kind.VAR_SAMP || call.kind() == Call.Kind.STDDEV_SAMP;
    if (count == 0 || (sample && count == 1)) return null;
    if (notFinite > 0) return Double.NaN;
    double variance = variance(sample ? count - 1 : count);
    return call.kind() == Call.Kind.STDDEV_POP || call.kind() == Call.Kind.STDDEV_SAMP
        ? Math.sqrt(variance)
        : variance;
  }

  /** (n * sum of squares - square of the sum) / n / divisor. */
  private double variance(long divisor) {
    boolean whole = realSum.isZero() && realSquares.isZero();
    if (whole && Math.abs(sum) < SMALL && squares < EXACT / count && count < SMALL) {
      return (double) (count * squares - sum * sum) / (count * divisor);
    }
    Binary all = realSum.plus(Binary.of(sum));
    Binary above =
        realSquares.plus(Binary.of(squares)).times(Binary.of(count)).minus(all.times(all));
    return above.over(Math.multiplyExact(count, divisor));
  }

  @Override
  void read(DataInputStream in) throws IOException {
    count = in.readLong();
    notFinite = in.readLong();
    sum = in.readLong();
    squares = in.readLong();
    realSum = binary(in);
    realSquares = binary(in);
  }

  private static Binary binary(DataInputStream in) throws IOException {
    int exponent = in.readInt();
    return new Binary(new BigInteger(in.readNBytes(in.readInt())), exponent);
  }

  @Override
  void write(DataOutputStream out) throws IOException {
    out.writeLong(count);
    out.writeLong(notFinite);
    out.writeLong(sum);
    out.writeLong(squares);
    write(realSum.shortest(), out);
    write(realSquares.shortest(), out);
  }

  private static void write(Binary number, DataOutputStream out) throws IOException {
    byte[] digits = number.digits().toByteArray();
    out.writeInt(number.exponent());
    out.writeInt(digits.length);
    out.write(digits);
  }

  @Override
  void clear() {
    count = notFinite = sum = squares = 0;
    realSum = realSquares = Binary.ZERO;
  }
}
