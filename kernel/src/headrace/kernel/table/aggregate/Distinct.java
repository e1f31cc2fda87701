package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/** count(distinct x, …). Counts each value, in a map of its own. */
final class Distinct extends Accumulator {
  private final MapState<String, byte[]> values;
  private final UnsafeProjection projection;
  private long count;

  Distinct(Call call, MapState<String, byte[]> values) {
    super(call);
    this.values = values;
    this.projection = UnsafeProjection.create(call.arguments());
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    Object[] arguments = new Object[call.arguments().length];
    for (int i = 0; i < arguments.length; i++) {
      if (row.isNullAt(call.first() + i)) return;
      arguments[i] = OrderBytes.normal(row.get(call.first() + i, call.arguments()[i]));
    }
    String key =
        new String(
            projection.apply(new GenericInternalRow(arguments)).getBytes(),
            StandardCharsets.ISO_8859_1);
    byte[] known = values.getValue(key);
    long now = (known == null ? 0 : ByteBuffer.wrap(known).getLong()) + by;
    if (now == 0) {
      values.removeKey(key);
      count--;
    } else {
      values.updateValue(key, ByteBuffer.allocate(8).putLong(now).array());
      if (known == null) count++;
    }
  }

  @Override
  Object result() {
    return count;
  }

  @Override
  void read(DataInputStream in) throws IOException {
    count = in.readLong();
  }

  @Override
  void write(DataOutputStream out) throws IOException {
    out.writeLong(count);
  }

  @Override
  void clear() {
    count = 0;
  }
}
