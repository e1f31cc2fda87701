package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Digits;
import headrace.kernel.json.token.Numbers;
import headrace.kernel.json.token.Refused;
import headrace.kernel.json.token.Text;
import org.apache.spark.sql.types.Decimal;

/** decimal(p,s): a number, or a string that is one; exact, rounded half up to the scale. */
final class DecimalReader extends Reader {
  private static final long[] TENS = new long[19];

  static {
    TENS[0] = 1;
    for (int i = 1; i < TENS.length; i++) TENS[i] = TENS[i - 1] * 10;
  }

  private final int precision;
  private final int scale;

  DecimalReader(int precision, int scale) {
    this.precision = precision;
    this.scale = scale;
  }

  @Override
  Object read(Cursor c, int first) {
    int start = c.pos;
    Digits digits;
    if (Cursor.startsNumber(first) && !c.atSpecial(first)) {
      Numbers.scan(c);
      int up = scale + c.exponent;
      if (!c.big
          && precision <= 18
          && up >= 0
          && up <= 18
          && c.mantissa <= (TENS[precision] - 1) / TENS[up]) {
        long unscaled = c.mantissa * TENS[up];
        return Decimal.createUnsafe(c.negative ? -unscaled : unscaled, precision, scale);
      }
      digits = Digits.of(c.bytes, start, c.pos);
    } else if (first == '"') {
      Text.scan(c);
      byte[] text = Text.plain(c);
      digits = Digits.of(text, 0, text.length);
    } else {
      throw refuse(c, start, "");
    }
    if (digits == null) throw refuse(c, start, "");
    Decimal value = digits.decimal(precision, scale);
    if (value == null) throw refuse(c, start, "out of range");
    return value;
  }

  private Refused refuse(Cursor c, int start, String note) {
    return c.mismatch(start, "decimal(" + precision + "," + scale + ")", note);
  }
}
