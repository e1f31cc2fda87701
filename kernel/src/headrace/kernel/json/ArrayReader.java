package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Refused;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** array: elements of one type, or null. */
final class ArrayReader extends Reader {
  private final Reader element;

  ArrayReader(Reader element) {
    this.element = element;
  }

  @Override
  Object read(Cursor c, int first) {
    if (first != '[') throw c.mismatch(c.pos, "array", "");
    ArrayList<Object> values = new ArrayList<>();
    int ch = c.enter();
    if (ch == ']') {
      c.leave();
      return new GenericArrayData(new Object[0]);
    }
    try {
      do {
        if (ch == 'n') {
          c.nothing();
          values.add(null);
        } else {
          values.add(element.read(c, ch));
        }
      } while ((ch = c.more(']', Cursor.ARRAY)) >= 0);
    } catch (Refused e) {
      throw e.inElement(values.size());
    }
    return new GenericArrayData(values.toArray());
  }
}
