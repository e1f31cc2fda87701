package headrace.kernel.slide;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Pair;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.table.aggregate.Group;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/**
 * Writes the rows of a key's windows into blocks: start, end, whether it is final, and the results.
 */
final class WindowRows {
  private static final int RESULTS = 3;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  private final byte side;
  private final long size;
  private final int enough;
  private final Object[] values;
  private final GenericInternalRow row;
  private final UnsafeProjection projection;
  private List<byte[]> blocks;
  private BlockBuilder block;
  private byte[] key;

  /** The key and room for a row of the length that the last one had. */
  private byte[] pair;

  private int room;

  WindowRows(Calls calls, long size, byte side, int enough) {
    List<DataType> types =
        new ArrayList<>(List.of(DataTypes.LongType, DataTypes.LongType, DataTypes.BooleanType));
    for (Call call : calls.calls()) types.add(call.result());
    this.size = size;
    this.side = side;
    this.enough = enough;
    values = new Object[types.size()];
    row = new GenericInternalRow(values);
    projection = UnsafeProjection.create(types.toArray(DataType[]::new));
  }

  void begin(byte[] key) {
    this.key = key;
    blocks = new ArrayList<>();
    block = new BlockBuilder(1024);
    room = -1;
  }

  void emit(long end, boolean last, Group group) {
    values[0] = end - size;
    values[1] = end;
    values[2] = last;
    group.results(values, RESULTS);
    UnsafeRow written = projection.apply(row);
    int length = written.getSizeInBytes();
    if (length != room) {
      pair = Pair.of(key, new byte[length]);
      room = length;
    }
    Platform.copyMemory(
        written.getBaseObject(),
        written.getBaseOffset(),
        pair,
        START + pair.length - length,
        length);
    block.add(side, end, 0, 0, 0, null, 0, -1, pair, START, pair.length);
    if (block.size() >= enough) {
      blocks.add(block.build());
      block = new BlockBuilder(enough + pair.length * 2);
    }
  }

  Iterator<byte[]> end() {
    if (!block.isEmpty()) blocks.add(block.build());
    return blocks.iterator();
  }
}
