package headrace.kernel.window;

import headrace.kernel.window.frame.Span;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The buffers of windows, and the rows computed from them: start, end, whether it is final, and the
 * functions' results.
 */
final class Results {
  private static final DataType[] HEAD = {
    DataTypes.LongType, DataTypes.LongType, DataTypes.BooleanType
  };

  private final Buffers buffers;
  private final int arguments;
  private final UnsafeProjection projection;

  Results(Functions functions) {
    this.buffers = new Buffers(functions);
    this.arguments = functions.arguments().length;
    this.projection = UnsafeProjection.create(types(functions));
  }

  /** The types of a row that is emitted. */
  static DataType[] types(Functions functions) {
    DataType[] results = functions.results();
    DataType[] types = new DataType[HEAD.length + results.length];
    System.arraycopy(HEAD, 0, types, 0, HEAD.length);
    System.arraycopy(results, 0, types, HEAD.length, results.length);
    return types;
  }

  Buffers buffers() {
    return buffers;
  }

  /** How many columns the row of arguments has. */
  int arguments() {
    return arguments;
  }

  byte[] row(Span span, boolean last, InternalRow buffer) {
    InternalRow head = new GenericInternalRow(new Object[] {span.start(), span.end(), last});
    // A copy: the projection uses its buffer again.
    return projection.apply(new JoinedRow(head, buffers.evaluate(buffer))).copy().getBytes();
  }
}
