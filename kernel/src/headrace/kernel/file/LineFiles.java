package headrace.kernel.file;

import java.io.IOException;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/**
 * {@code format("headrace.kernel.file.LineFiles")}: a record a line; the columns {@code _raw} and
 * {@code _offset}.
 */
public final class LineFiles extends RecordFiles {
  private static final long serialVersionUID = 1L;

  @Override
  boolean cuttable() {
    return true;
  }

  @Override
  Records records(Bytes bytes, long end, StructType columns, Map<String, String> options) {
    String[] names = columns.fieldNames();
    return () -> next(bytes, end, names);
  }

  private static Object[] next(Bytes bytes, long end, String[] names) throws IOException {
    while (true) {
      bytes.begin();
      long place = bytes.position();
      if (place >= end || !bytes.readLine()) return null;
      byte[] line = bytes.taken();
      // An empty line separates records.
      if (blank(line)) continue;
      Object[] values = new Object[names.length];
      for (int i = 0; i < names.length; i++)
        values[i] = names[i].equals("_raw") ? line : (Object) place;
      return values;
    }
  }

  static byte[] record(Bytes bytes) throws IOException {
    bytes.begin();
    bytes.readLine();
    return bytes.taken();
  }

  private static boolean blank(byte[] line) {
    for (byte each : line) if (each != ' ' && each != '\t') return false;
    return true;
  }
}
