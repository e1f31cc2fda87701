package headrace.kernel.json.token;

import java.nio.charset.StandardCharsets;

/**
 * JSON numbers. What fits 18 digits never leaves a long; the rest is read again from its text,
 * exactly.
 */
public final class Numbers {
  private static final double[] TENS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22
  };
  private static final float[] FLOAT_TENS = {
    1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f
  };
  private static final int EXPONENT_LIMIT = 1_000_000_000;
  private static final String NUMBER = "a number";

  private Numbers() {}

  /** Past the number here; leaves its parts in the cursor: mantissa times ten to the exponent. */
  public static void scan(Cursor c) {
    byte[] b = c.bytes;
    int p = c.pos;
    boolean negative = b[p] == '-';
    if (negative) p++;
    int start = p;
    long mantissa = 0;
    int d;
    while (p < b.length && (d = b[p] - '0') >= 0 && d <= 9) {
      mantissa = mantissa * 10 + d;
      p++;
    }
    int digits = p - start;
    if (digits == 0) throw digit(c, p);
    if (b[start] == '0' && digits > 1) {
      c.pos = start;
      throw c.unexpected("a number without leading zeros", NUMBER);
    }
    int exponent = 0;
    boolean integral = true;
    if (p < b.length && b[p] == '.') {
      int dot = ++p;
      while (p < b.length && (d = b[p] - '0') >= 0 && d <= 9) {
        mantissa = mantissa * 10 + d;
        p++;
      }
      if (p == dot) throw digit(c, p);
      integral = false;
      exponent = dot - p;
      digits -= exponent;
    }
    c.pos = p;
    c.exponent = exponent;
    if (p < b.length && (b[p] | 0x20) == 'e') {
      integral = false;
      power(c);
    }
    c.negative = negative;
    c.mantissa = mantissa;
    c.integral = integral;
    c.big = digits > 18;
  }

  private static void power(Cursor c) {
    byte[] b = c.bytes;
    int p = c.pos + 1;
    boolean minus = p < b.length && b[p] == '-';
    if (minus || (p < b.length && b[p] == '+')) p++;
    int from = p;
    int power = 0;
    int d;
    while (p < b.length && (d = b[p] - '0') >= 0 && d <= 9) {
      power = power < EXPONENT_LIMIT / 10 ? power * 10 + d : EXPONENT_LIMIT;
      p++;
    }
    if (p == from) throw digit(c, p);
    c.pos = p;
    c.exponent += minus ? -power : power;
  }

  private static Refused digit(Cursor c, int at) {
    c.pos = at;
    return c.unexpected("a digit", NUMBER);
  }

  /** The number here as a whole number within the range: 7, 7.0 and 7e0 are the same. */
  public static long whole(Cursor c, long min, long max, String type) {
    int start = c.pos;
    byte[] b = c.bytes;
    int p = b[start] == '-' ? start + 1 : start;
    int from = p;
    long small = 0;
    int d;
    while (p < b.length && (d = b[p] - '0') >= 0 && d <= 9) {
      small = small * 10 + d;
      p++;
    }
    // Up to 18 digits, no leading zero, and nothing of a number behind.
    if (p > from
        && p - from <= 18
        && b[from] != '0'
        && p < b.length
        && b[p] != '.'
        && (b[p] | 0x20) != 'e') {
      c.pos = p;
      long value = from > start ? -small : small;
      if (value < min || value > max) throw c.mismatch(start, type, "out of range");
      return value;
    }
    return anyWhole(c, start, min, max, type);
  }

  private static long anyWhole(Cursor c, int start, long min, long max, String type) {
    scan(c);
    long value;
    if (c.integral && !c.big) {
      value = c.negative ? -c.mantissa : c.mantissa;
    } else {
      Digits digits = Digits.of(c.bytes, start, c.pos);
      if (!digits.isWhole()) throw c.mismatch(start, type, "not a whole number");
      if (!digits.fitsLong()) throw c.mismatch(start, type, "out of range");
      value = digits.toLong();
    }
    if (value < min || value > max) throw c.mismatch(start, type, "out of range");
    return value;
  }

  /**
   * The number here, rounded as Double.parseDouble rounds. Clinger's fast path takes all but the
   * longest.
   */
  public static double real(Cursor c) {
    int start = c.pos;
    scan(c);
    int e = c.exponent;
    if (!c.big && c.mantissa <= 1L << 53 && e >= -22 && e <= 22) {
      double value = e < 0 ? c.mantissa / TENS[-e] : c.mantissa * TENS[e];
      return c.negative ? -value : value;
    }
    return Double.parseDouble(text(c, start));
  }

  public static float shortReal(Cursor c) {
    int start = c.pos;
    scan(c);
    int e = c.exponent;
    if (!c.big && c.mantissa <= 1L << 24 && e >= -10 && e <= 10) {
      float value = e < 0 ? c.mantissa / FLOAT_TENS[-e] : c.mantissa * FLOAT_TENS[e];
      return c.negative ? -value : value;
    }
    return Float.parseFloat(text(c, start));
  }

  private static String text(Cursor c, int start) {
    return new String(c.bytes, start, c.pos - start, StandardCharsets.ISO_8859_1);
  }
}
