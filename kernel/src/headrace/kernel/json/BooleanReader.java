package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;

/** true or false. */
final class BooleanReader extends BitsReader {
  @Override
  long bits(Cursor c, int first) {
    if (first != 't' && first != 'f') throw c.mismatch(c.pos, "boolean", "");
    return c.bool(first) ? 1 : 0;
  }

  @Override
  Object box(long bits) {
    return bits != 0;
  }
}
