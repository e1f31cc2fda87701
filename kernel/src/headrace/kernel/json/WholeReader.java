package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Numbers;

/** byte, short, int and long: whole numbers in range. */
final class WholeReader extends BitsReader {
  private final int width;
  private final String type;
  private final long min;
  private final long max;

  WholeReader(int width, String type) {
    this.width = width;
    this.type = type;
    this.min = Long.MIN_VALUE >> (64 - width);
    this.max = Long.MAX_VALUE >> (64 - width);
  }

  @Override
  long bits(Cursor c, int first) {
    if (!Cursor.startsNumber(first) || c.atSpecial(first)) throw c.mismatch(c.pos, type, "");
    return Numbers.whole(c, min, max, type);
  }

  @Override
  Object box(long bits) {
    return switch (width) {
      case 8 -> (Object) (byte) bits;
      case 16 -> (Object) (short) bits;
      case 32 -> (Object) (int) bits;
      default -> (Object) bits;
    };
  }
}
