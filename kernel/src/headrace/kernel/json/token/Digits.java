package headrace.kernel.json.token;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.Decimal;

/**
 * A number as its significant digits (ASCII, no zero at either end) times ten to the exponent.
 * Exact, and cheap for any text: 1e999999999 allocates one byte.
 */
public record Digits(boolean negative, byte[] digits, long exponent) {
  private static final long EXPONENT_LIMIT = 1_000_000_000_000L;

  /** Of a text that is a number: a sign, digits, a fraction, an exponent. Null when it is not. */
  public static Digits of(byte[] b, int from, int to) {
    int p = from;
    boolean negative = p < to && b[p] == '-';
    if (p < to && (b[p] == '-' || b[p] == '+')) p++;
    byte[] kept = new byte[to - p];
    int n = 0;
    int seen = 0;
    boolean fraction = false;
    long exponent = 0;
    for (; p < to; p++) {
      byte ch = b[p];
      if (ch >= '0' && ch <= '9') {
        seen++;
        if (fraction) exponent--;
        if (n > 0 || ch != '0') kept[n++] = ch;
      } else if (ch == '.' && !fraction) {
        fraction = true;
      } else {
        break;
      }
    }
    if (seen == 0) return null;
    if (p < to) {
      if ((b[p++] | 0x20) != 'e') return null;
      boolean minus = p < to && b[p] == '-';
      if (p < to && (b[p] == '-' || b[p] == '+')) p++;
      if (p == to) return null;
      long power = 0;
      for (; p < to; p++) {
        if (b[p] < '0' || b[p] > '9') return null;
        power = Math.min(power * 10 + (b[p] - '0'), EXPONENT_LIMIT);
      }
      exponent += minus ? -power : power;
    }
    while (n > 0 && kept[n - 1] == '0') {
      n--;
      exponent++;
    }
    return n == 0
        ? new Digits(negative, new byte[0], 0)
        : new Digits(negative, Arrays.copyOf(kept, n), exponent);
  }

  boolean isWhole() {
    return exponent >= 0;
  }

  /** How many digits stand before the point; zero or less below one. */
  long magnitude() {
    return digits.length + exponent;
  }

  boolean fitsLong() {
    if (magnitude() > 19) return false;
    return leading(magnitude()).bitLength() < 64;
  }

  long toLong() {
    return leading(magnitude()).longValue();
  }

  /** The first digits as a whole number with its sign, filled up with zeros; `count` is small. */
  private BigInteger leading(long count) {
    if (count <= 0 || digits.length == 0) return BigInteger.ZERO;
    byte[] first = Arrays.copyOf(digits, (int) count);
    if (count > digits.length) Arrays.fill(first, digits.length, (int) count, (byte) '0');
    BigInteger value = new BigInteger(new String(first, StandardCharsets.ISO_8859_1));
    return negative ? value.negate() : value;
  }

  /** Rounded half up to the scale; null when it does not fit the precision. */
  public Decimal decimal(int precision, int scale) {
    if (magnitude() > precision - scale) return null;
    long keep = magnitude() + scale;
    BigInteger unscaled = leading(keep);
    if (keep >= 0 && keep < digits.length && digits[(int) keep] >= '5') {
      unscaled = unscaled.add(negative ? BigInteger.ONE.negate() : BigInteger.ONE);
    }
    BigDecimal value = new BigDecimal(unscaled, scale);
    return value.precision() > precision && unscaled.signum() != 0
        ? null
        : Decimal.apply(value, precision, scale);
  }

  /**
   * An epoch in seconds, millis, micros or nanos, recognized by its size, in microseconds, cut
   * downwards; null when far out of range.
   */
  public Long epochMicros() {
    long size = magnitude();
    int shift = size <= 11 ? 6 : size <= 14 ? 3 : size <= 17 ? 0 : -3;
    long keep = size + shift;
    if (keep > 18) return null;
    long micros = leading(keep).longValue();
    boolean cut = keep < digits.length;
    return negative && cut ? micros - 1 : micros;
  }
}
