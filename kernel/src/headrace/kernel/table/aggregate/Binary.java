package headrace.kernel.table.aggregate;

import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * An exact number: digits * 2^exponent. Every finite double is one, and so are their sums and
 * products.
 */
record Binary(BigInteger digits, int exponent) {
  static final Binary ZERO = new Binary(BigInteger.ZERO, 0);
  private static final BigInteger FIVE = BigInteger.valueOf(5);

  /** More bits than a double has, and one that emits whether anything follows. */
  private static final int ENOUGH = 64;

  static Binary of(long value) {
    return value == 0 ? ZERO : new Binary(BigInteger.valueOf(value), 0);
  }

  /** Of a finite number. */
  static Binary of(double value) {
    if (value == 0) return ZERO;
    long bits = Double.doubleToRawLongBits(value);
    int power = (int) (bits >>> 52) & 0x7ff;
    long digits = bits & ((1L << 52) - 1);
    if (power == 0) power = 1;
    else digits |= 1L << 52;
    return new Binary(BigInteger.valueOf(bits < 0 ? -digits : digits), power - 1075);
  }

  /** Of what {@link #decimal} gave. */
  static Binary of(BigDecimal value) {
    if (value.signum() == 0) return ZERO;
    if (value.scale() <= 0) return new Binary(value.toBigIntegerExact(), 0);
    return new Binary(value.unscaledValue().divide(FIVE.pow(value.scale())), -value.scale());
  }

  BigDecimal decimal() {
    Binary odd = shortest();
    if (odd.exponent >= 0) return new BigDecimal(odd.digits.shiftLeft(odd.exponent));
    return new BigDecimal(odd.digits.multiply(FIVE.pow(-odd.exponent)), -odd.exponent);
  }

  /** The same number with as few digits as it needs. */
  Binary shortest() {
    if (isZero()) return ZERO;
    int zeros = digits.getLowestSetBit();
    return new Binary(digits.shiftRight(zeros), exponent + zeros);
  }

  boolean isZero() {
    return digits.signum() == 0;
  }

  Binary plus(Binary other) {
    if (other.isZero()) return this;
    if (isZero()) return other;
    int low = Math.min(exponent, other.exponent);
    BigInteger sum = digits(low).add(other.digits(low));
    return sum.signum() == 0 ? ZERO : new Binary(sum, low);
  }

  Binary minus(Binary other) {
    return plus(new Binary(other.digits.negate(), other.exponent));
  }

  Binary times(Binary other) {
    return isZero() || other.isZero()
        ? ZERO
        : new Binary(digits.multiply(other.digits), exponent + other.exponent);
  }

  private BigInteger digits(int low) {
    return low == exponent ? digits : digits.shiftLeft(exponent - low);
  }

  /** The quotient, rounded once. */
  double over(long divisor) {
    if (isZero()) return 0;
    BigInteger by = BigInteger.valueOf(divisor);
    int more = Math.max(0, ENOUGH + by.bitLength() - digits.bitLength());
    BigInteger[] quotient = digits.abs().shiftLeft(more).divideAndRemainder(by);
    BigInteger rest = quotient[1].signum() == 0 ? BigInteger.ZERO : BigInteger.ONE;
    double rounded = rounded(quotient[0].shiftLeft(1).or(rest), exponent - more - 1);
    return digits.signum() < 0 ? -rounded : rounded;
  }

  /** Of digits that are {@link #ENOUGH} and more. */
  private static double rounded(BigInteger digits, int exponent) {
    int drop = digits.bitLength() - (ENOUGH - 1);
    long top = digits.shiftRight(drop).longValue();
    if (digits.getLowestSetBit() < drop) top |= 1;
    int power = exponent + drop;
    // A double that small has fewer digits: to be rounded once, it is computed from all of them.
    if (power + ENOUGH - 2 < Double.MIN_EXPONENT)
      return new Binary(digits, exponent).decimal().doubleValue();
    return Math.scalb((double) top, power);
  }
}
