package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Text;
import java.util.Base64;

/** binary: a string in base64. */
final class BinaryReader extends Reader {
  @Override
  Object read(Cursor c, int first) {
    int start = c.pos;
    if (first != '"') throw c.mismatch(start, "binary in base64", "");
    Text.scan(c);
    try {
      return Base64.getDecoder().decode(Text.plain(c));
    } catch (IllegalArgumentException notBase64) {
      throw c.mismatch(start, "binary in base64", "");
    }
  }
}
