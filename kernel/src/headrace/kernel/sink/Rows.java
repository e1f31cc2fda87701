package headrace.kernel.sink;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * The columns of a sink's row: the record for topics, which of the query's outputs it is, and the
 * row for databases.
 */
public final class Rows {
  private static final int KEY = 0, VALUE = 1, ROUTE = 2, DELETED = 3, ROW = 4, HEADERS = 5;
  private static final Header[] NONE = {};

  private Rows() {}

  public static byte[] key(InternalRow row) {
    return row.isNullAt(KEY) ? null : row.getUTF8String(KEY).getBytes();
  }

  public static byte[] value(InternalRow row) {
    return row.isNullAt(VALUE) ? null : row.getUTF8String(VALUE).getBytes();
  }

  /** Those of the record; only queries that write headers have the column. */
  public static Header[] headers(InternalRow row) {
    if (row.numFields() <= HEADERS || row.isNullAt(HEADERS)) return NONE;
    ArrayData pairs = row.getArray(HEADERS);
    Header[] headers = new Header[pairs.numElements()];
    for (int i = 0; i < headers.length; i++) {
      InternalRow pair = pairs.getStruct(i, 2);
      headers[i] = new RecordHeader(pair.getUTF8String(0).toString(), pair.getBinary(1));
    }
    return headers;
  }

  public static int route(InternalRow row) {
    return row.getInt(ROUTE);
  }

  /** Whether it is a row of the query itself; late rows go to topics only. */
  public static boolean own(InternalRow row) {
    return row.getInt(ROUTE) == 0;
  }

  public static boolean deleted(InternalRow row) {
    return row.getBoolean(DELETED);
  }

  public static InternalRow row(InternalRow row, int fields) {
    return row.getStruct(ROW, fields);
  }
}
