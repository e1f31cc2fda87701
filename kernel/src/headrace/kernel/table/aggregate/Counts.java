package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** count(*), count(x), count(x, y): rows in which no argument is null. */
final class Counts extends Accumulator {
  private long count;

  Counts(Call call) {
    super(call);
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    for (int i = 0; i < call.arguments().length; i++) if (row.isNullAt(call.first() + i)) return;
    count += by;
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
