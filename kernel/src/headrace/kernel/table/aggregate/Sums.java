package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;

/**
 * sum and avg. The sum is exact, even of doubles: a retracted value leaves nothing behind, and the
 * order of rows makes no difference. It is rounded once, when it is evaluated.
 */
final class Sums extends Accumulator {
  /** Below it every whole number is a double. */
  private static final long EXACT = 1L << 53;

  private long count;
  private long whole;

  /** What is neither a small whole number nor a double. */
  private BigDecimal rest = BigDecimal.ZERO;

  private Binary real = Binary.ZERO;
  private long notANumber;
  private long plusInfinity;
  private long minusInfinity;

  Sums(Call call) {
    super(call);
  }

  static boolean takes(DataType type) {
    return type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof FloatType
        || type instanceof DoubleType
        || type instanceof DecimalType;
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    if (row.isNullAt(call.first())) return;
    count += by;
    Object value = row.get(call.first(), call.argument());
    if (value instanceof Decimal decimal) add(decimal.toJavaBigDecimal(), by);
    else if (value instanceof Double || value instanceof Float)
      real(((Number) value).doubleValue(), by);
    else whole(((Number) value).longValue(), by);
  }

  private void whole(long value, int by) {
    long next = whole + by * value;
    boolean over =
        ((whole ^ next) & ((by > 0 ? value : ~value) ^ next)) < 0 || value == Long.MIN_VALUE;
    if (over) add(BigDecimal.valueOf(value), by);
    else whole = next;
  }

  private void real(double value, int by) {
    if (Double.isNaN(value)) notANumber += by;
    else if (value == Double.POSITIVE_INFINITY) plusInfinity += by;
    else if (value == Double.NEGATIVE_INFINITY) minusInfinity += by;
    else real = by > 0 ? real.plus(Binary.of(value)) : real.minus(Binary.of(value));
  }

  private void add(BigDecimal value, int by) {
    rest = by > 0 ? rest.add(value) : rest.subtract(value);
    if (rest.signum() == 0) rest = BigDecimal.ZERO;
    else if (rest.scale() > 64) rest = rest.stripTrailingZeros();
  }

  @Override
  Object result() {
    if (count == 0) return null;
    DataType type = call.result();
    if (type instanceof DoubleType && (notANumber > 0 || plusInfinity > 0 || minusInfinity > 0)) {
      if (notANumber > 0 || (plusInfinity > 0 && minusInfinity > 0)) return Double.NaN;
      return plusInfinity > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    boolean average = call.kind() == Call.Kind.AVERAGE;
    if (isReal()) return real.over(average ? count : 1);
    if (rest.signum() == 0) {
      if (type instanceof LongType) return whole;
      // Both are doubles as they are, so the quotient is rounded once.
      if (type instanceof DoubleType && Math.abs(whole) < EXACT && count < EXACT)
        return average ? (double) whole / count : (double) whole;
    }
    BigDecimal sum = rest.add(BigDecimal.valueOf(whole));
    if (type instanceof DecimalType decimal) {
      BigDecimal value =
          average
              ? sum.divide(BigDecimal.valueOf(count), decimal.scale(), RoundingMode.HALF_UP)
              : sum;
      value = value.setScale(decimal.scale(), RoundingMode.HALF_UP);
      if (value.precision() - value.scale() > decimal.precision() - decimal.scale())
        throw overflow();
      return Decimal.apply(
          new scala.math.BigDecimal(value, MathContext.UNLIMITED),
          decimal.precision(),
          decimal.scale());
    }
    if (type instanceof LongType) {
      if (sum.toBigInteger().bitLength() > 63) throw overflow();
      return sum.longValue();
    }
    return (average
            ? sum.divide(BigDecimal.valueOf(count), new MathContext(sum.precision() + 40))
            : sum)
        .doubleValue();
  }

  private boolean isReal() {
    return call.argument() instanceof DoubleType || call.argument() instanceof FloatType;
  }

  private ArithmeticException overflow() {
    return new ArithmeticException("a sum does not fit into " + call.result().simpleString());
  }

  @Override
  void read(DataInputStream in) throws IOException {
    count = in.readLong();
    whole = in.readLong();
    notANumber = in.readLong();
    plusInfinity = in.readLong();
    minusInfinity = in.readLong();
    int scale = in.readInt();
    rest = new BigDecimal(new BigInteger(in.readNBytes(in.readInt())), scale);
    if (!isReal()) return;
    real = Binary.of(rest);
    rest = BigDecimal.ZERO;
  }

  @Override
  void write(DataOutputStream out) throws IOException {
    out.writeLong(count);
    out.writeLong(whole);
    out.writeLong(notANumber);
    out.writeLong(plusInfinity);
    out.writeLong(minusInfinity);
    BigDecimal sum = isReal() ? real.decimal() : rest;
    out.writeInt(sum.scale());
    byte[] unscaled = sum.unscaledValue().toByteArray();
    out.writeInt(unscaled.length);
    out.write(unscaled);
  }

  @Override
  void clear() {
    count = whole = notANumber = plusInfinity = minusInfinity = 0;
    rest = BigDecimal.ZERO;
    real = Binary.ZERO;
  }
}
