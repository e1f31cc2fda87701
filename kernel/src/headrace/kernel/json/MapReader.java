package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Refused;
import headrace.kernel.json.token.Text;
import java.util.LinkedHashMap;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** map of strings: an object whose names are not known beforehand. */
final class MapReader extends Reader {
  private final Reader value;

  MapReader(Reader value) {
    this.value = value;
  }

  @Override
  Object read(Cursor c, int first) {
    if (first != '{') throw c.mismatch(c.pos, "object", "");
    LinkedHashMap<UTF8String, Object> entries = new LinkedHashMap<>();
    int ch = c.enter();
    if (ch == '}') {
      c.leave();
    } else {
      UTF8String key = null;
      try {
        do {
          if (ch != '"') throw c.unexpected("a field name", Cursor.OBJECT);
          Text.scan(c);
          key = Text.string(c);
          ch = c.colon();
          if (ch == 'n') {
            c.nothing();
            entries.put(key, null);
          } else {
            entries.put(key, value.read(c, ch));
          }
        } while ((ch = c.more('}', Cursor.OBJECT)) >= 0);
      } catch (Refused e) {
        throw e.inField(String.valueOf(key));
      }
    }
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()),
        new GenericArrayData(entries.values().toArray()));
  }
}
