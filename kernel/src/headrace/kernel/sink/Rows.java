package headrace.kernel.sink;

import org.apache.spark.sql.catalyst.InternalRow;

/** The columns of a row that comes to a sink: the record for topics, which of the query's outputs it is, and the row for databases. */
public final class Rows {
  private static final int KEY = 0, VALUE = 1, ROUTE = 2, DELETED = 3, ROW = 4;

  private Rows() {}

  public static byte[] key(InternalRow row) {
    return row.isNullAt(KEY) ? null : row.getUTF8String(KEY).getBytes();
  }

  public static byte[] value(InternalRow row) {
    return row.isNullAt(VALUE) ? null : row.getUTF8String(VALUE).getBytes();
  }

  public static int route(InternalRow row) {
    return row.getInt(ROUTE);
  }

  /** Whether it is a row of the query itself; the others, of what came too late, go to topics only. */
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
