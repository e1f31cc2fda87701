package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Names;
import headrace.kernel.json.token.Refused;
import java.util.Arrays;

/**
 * struct: an object with known fields, in any order; unknown ones are checked and skipped, of
 * doubles the last counts.
 */
final class StructReader extends Reader {
  private final String[] names;
  private final Names lookup;
  private final Reader[] readers;

  StructReader(String[] names, Reader[] readers) {
    this.names = names;
    this.lookup = new Names(names);
    this.readers = readers;
  }

  @Override
  Object read(Cursor c, int first) {
    if (first != '{') throw c.mismatch(c.pos, "object", "");
    DecodedRow row = new DecodedRow(readers);
    fill(c, row);
    return row;
  }

  /** The readers of a row that has one field more. */
  Reader[] readersAnd(Reader last) {
    Reader[] all = Arrays.copyOf(readers, readers.length + 1);
    all[readers.length] = last;
    return all;
  }

  /** Reads the object here into a row, which may be wider. */
  void fill(Cursor c, DecodedRow row) {
    int ch = c.enter();
    if (ch == '}') {
      c.leave();
      return;
    }
    int field = -1;
    try {
      do {
        if (lookup.next(c, field + 1)) {
          field++;
          ch = c.next();
        } else {
          if (ch != '"') throw c.unexpected("a field name", Cursor.OBJECT);
          int found = lookup.find(c);
          ch = c.colon();
          if (found < 0) {
            c.skip(ch);
            continue;
          }
          field = found;
        }
        if (ch == 'n') {
          c.nothing();
          row.setNullAt(field);
        } else if (readers[field] instanceof BitsReader primitive) {
          row.putBits(field, primitive.bits(c, ch));
        } else {
          row.put(field, readers[field].read(c, ch));
        }
      } while ((ch = c.more('}', Cursor.OBJECT)) >= 0);
    } catch (Refused e) {
      throw field < 0 ? e : e.inField(names[field]);
    }
  }
}
