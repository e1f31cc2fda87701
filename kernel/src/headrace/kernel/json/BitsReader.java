package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;

/** A type whose value is a primitive of up to 64 bits. */
abstract sealed class BitsReader extends Reader
    permits BooleanReader, WholeReader, RealReader, TimeReader, IntervalReader {
  abstract long bits(Cursor c, int first);

  abstract Object box(long bits);

  @Override
  final Object read(Cursor c, int first) {
    return box(bits(c, first));
  }
}
