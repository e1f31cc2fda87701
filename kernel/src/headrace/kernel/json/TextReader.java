package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Text;
import org.apache.spark.unsafe.types.UTF8String;

/** string: the JSON string, or the text of any other JSON value as it stands. */
final class TextReader extends Reader {
  @Override
  Object read(Cursor c, int first) {
    if (first == '"') {
      Text.scan(c);
      return Text.string(c);
    }
    int start = c.pos;
    if (c.atSpecial(first)) throw c.mismatch(start, "string", "");
    c.skip(first);
    return UTF8String.fromBytes(c.bytes, start, c.pos - start);
  }
}
