package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantBuilder;
import org.apache.spark.unsafe.types.VariantVal;

/** variant: any value, built by Spark from the text once it is known to be JSON. */
final class VariantReader extends Reader {
  @Override
  Object read(Cursor c, int first) {
    int start = c.pos;
    c.skip(first);
    String text = new String(c.bytes, start, c.pos - start, StandardCharsets.UTF_8);
    try {
      Variant variant = VariantBuilder.parseJson(text, true, false);
      return new VariantVal(variant.getValue(), variant.getMetadata());
    } catch (IOException | RuntimeException refused) {
      throw c.mismatch(start, "variant", "");
    }
  }
}
