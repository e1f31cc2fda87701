package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Numbers;
import headrace.kernel.json.token.Text;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * float and double: any number; NaN and the infinities bare (Python writes them so) or quoted
 * (Spark does).
 */
final class RealReader extends BitsReader {
  private static final UTF8String NAN = UTF8String.fromString("NaN");
  private static final UTF8String INFINITY = UTF8String.fromString("Infinity");
  private static final UTF8String MINUS_INFINITY = UTF8String.fromString("-Infinity");

  private final boolean wide;

  RealReader(boolean wide) {
    this.wide = wide;
  }

  @Override
  long bits(Cursor c, int first) {
    if (Cursor.startsNumber(first) && !c.atSpecial(first)) {
      return wide
          ? Double.doubleToRawLongBits(Numbers.real(c))
          : Float.floatToRawIntBits(Numbers.shortReal(c));
    }
    double value =
        first == '"' ? quoted(c) : c.atSpecial(first) ? c.special(first) : refuse(c, c.pos);
    return wide ? Double.doubleToRawLongBits(value) : Float.floatToRawIntBits((float) value);
  }

  private double quoted(Cursor c) {
    int start = c.pos;
    Text.scan(c);
    UTF8String text = Text.string(c);
    if (text.equals(NAN)) return Double.NaN;
    if (text.equals(INFINITY)) return Double.POSITIVE_INFINITY;
    if (text.equals(MINUS_INFINITY)) return Double.NEGATIVE_INFINITY;
    return refuse(c, start);
  }

  private double refuse(Cursor c, int start) {
    throw c.mismatch(start, wide ? "double" : "float", "");
  }

  @Override
  Object box(long bits) {
    return wide
        ? (Object) Double.longBitsToDouble(bits)
        : (Object) Float.intBitsToFloat((int) bits);
  }
}
