package headrace.kernel.block;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Bytes of a row -> the row, without a copy; of a {@link Pair}, a struct of the two. The object
 * returned is reused.
 */
public final class Struct {
  private final UnsafeRow row;
  private final UnsafeRow second;
  private final GenericInternalRow both = new GenericInternalRow(new Object[2]);

  /** For rows with this number of fields. */
  public Struct(int fields) {
    row = new UnsafeRow(fields);
    second = null;
  }

  /** For pairs of rows. */
  public Struct(int left, int right) {
    row = new UnsafeRow(left);
    second = new UnsafeRow(right);
  }

  /** The type of a pair has two fields, both structs. */
  static Struct of(StructType type, boolean pair) {
    return pair ? new Struct(fields(type, 0), fields(type, 1)) : new Struct(type.size());
  }

  private static int fields(StructType type, int field) {
    return ((StructType) type.apply(field).dataType()).size();
  }

  public InternalRow at(byte[] bytes) {
    return at(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
  }

  /** Null if the length is -1. */
  InternalRow at(Object base, long offset, int length) {
    if (length < 0) return null;
    if (second == null) {
      row.pointTo(base, offset, length);
      return row;
    }
    int left = Platform.getInt(base, offset);
    int start = Pair.HEAD + Math.max(left, 0);
    if (left >= 0) row.pointTo(base, offset + Pair.HEAD, left);
    boolean right = Platform.getByte(base, offset + 4) != 0;
    if (right) second.pointTo(base, offset + start, length - start);
    both.update(0, left < 0 ? null : row);
    both.update(1, right ? second : null);
    return both;
  }
}
