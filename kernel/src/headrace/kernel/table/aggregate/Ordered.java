package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.DataType;
import scala.Tuple2;

/**
 * Everything that has an order: min, max, min_by, max_by and their k best, first, last,
 * collect_list, collect_set.
 *
 * <p>Keeps the values of the group with an order ({@link OrderBytes}) and a count. The first of
 * them are at hand ("the head"). A group with more values than the head takes has all of them in a
 * map as well, whose keys begin with the order, so that when values of the head go, the next ones
 * are found where the map begins. collect_list and collect_set return all values, so all are in the
 * head.
 */
final class Ordered extends Accumulator {
  private static final int PREFIX = 16;
  private static final int SPARE = 16;
  private static final HexFormat HEX = HexFormat.of();

  private record Item(byte[] order, byte[] value, int count) implements Comparable<Item> {
    @Override
    public int compareTo(Item other) {
      int first = Arrays.compareUnsigned(order, other.order);
      return first != 0 ? first : Arrays.compareUnsigned(value, other.value);
    }

    Item with(int count) {
      return new Item(order, value, count);
    }
  }

  private final DataType type;
  private final UnsafeProjection projection;
  private final MapState<String, byte[]> map;
  private final int room;
  private final List<Item> head = new ArrayList<>();
  private long size;
  private boolean spilled;

  Ordered(Call call, Supplier<MapState<String, byte[]>> maps) {
    super(call);
    this.type = call.argument();
    this.projection = UnsafeProjection.create(new DataType[] {type});
    boolean all = call.most() == 0;
    this.room = all ? Integer.MAX_VALUE : call.most() + SPARE;
    this.map = all ? null : maps.get();
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    byte[] order = order(row, time);
    if (order == null) return;
    Object value =
        row.isNullAt(call.first()) ? null : OrderBytes.normal(row.get(call.first(), type));
    byte[] bytes = projection.apply(new GenericInternalRow(new Object[] {value})).copy().getBytes();
    change(new Item(order, bytes, by));
  }

  /** Null for a row that does not count. */
  private byte[] order(UnsafeRow row, long time) {
    boolean missing = row.isNullAt(call.first());
    if (missing && !call.nulls()) return null;
    return switch (call.kind()) {
      case MIN, SET -> OrderBytes.of(row.get(call.first(), type), type);
      case MAX -> OrderBytes.reversed(OrderBytes.of(row.get(call.first(), type), type));
      case MIN_BY, SMALLEST_BY -> by(row);
      case MAX_BY, LARGEST_BY -> by(row) == null ? null : OrderBytes.reversed(by(row));
      case LAST -> OrderBytes.reversed(OrderBytes.of(time));
      default -> OrderBytes.of(time);
    };
  }

  private byte[] by(UnsafeRow row) {
    int ordinal = call.first() + 1;
    return row.isNullAt(ordinal)
        ? null
        : OrderBytes.of(row.get(ordinal, call.arguments()[1]), call.arguments()[1]);
  }

  private void change(Item change) {
    int at = Collections.binarySearch(head, change);
    String key = spilled ? key(change) : null;
    byte[] stored = spilled ? map.getValue(key) : null;
    int before = spilled ? (stored == null ? 0 : count(stored)) : at >= 0 ? head.get(at).count : 0;
    Item now = change.with(before + change.count);
    if (before == 0) size++;
    if (now.count == 0) size--;
    if (spilled) {
      if (now.count == 0) map.removeKey(key);
      else map.updateValue(key, bytes(now));
    }
    if (at >= 0) {
      if (now.count == 0) head.remove(at);
      else head.set(at, now);
    } else if (now.count != 0 && (head.size() == size - 1 || -at - 1 < head.size())) {
      head.add(-at - 1, now);
    }
    if (head.size() > room) {
      if (!spilled) for (Item item : head) map.updateValue(key(item), bytes(item));
      spilled = true;
      head.remove(head.size() - 1);
    }
  }

  @Override
  Object result() {
    if (spilled && head.size() < Math.min(call.most(), size)) refill();
    boolean many =
        switch (call.kind()) {
          case LIST, SET, SMALLEST_BY, LARGEST_BY -> true;
          default -> false;
        };
    if (!many) return head.isEmpty() ? null : value(head.get(0));
    List<Object> values = new ArrayList<>();
    int most = call.most() == 0 ? Integer.MAX_VALUE : call.most();
    for (Item item : head) {
      int times = call.kind() == Call.Kind.SET ? 1 : item.count;
      for (int i = 0; i < times && values.size() < most; i++) values.add(value(item));
    }
    return values.isEmpty() && call.most() > 0 ? null : new GenericArrayData(values.toArray());
  }

  /**
   * From the map, whose keys are in order up to the length of their prefix; of equal prefixes all
   * are needed to know their order.
   */
  private void refill() {
    head.clear();
    String last = null;
    scala.collection.Iterator<Tuple2<String, byte[]>> items = map.iterator();
    while (items.hasNext()) {
      Tuple2<String, byte[]> item = items.next();
      String prefix = item._1().substring(0, PREFIX * 2);
      if (head.size() >= room && !prefix.equals(last)) break;
      last = prefix;
      head.add(item(item._2()));
    }
    head.sort(null);
    if (head.size() > room) head.subList(room, head.size()).clear();
  }

  private Object value(Item item) {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(item.value, item.value.length);
    return row.isNullAt(0) ? null : row.get(0, type);
  }

  /** Of one length for all, because the state orders keys by their length first. */
  private static String key(Item item) {
    try {
      MessageDigest digest = MessageDigest.getInstance("MD5");
      digest.update(item.order);
      digest.update((byte) 0);
      return HEX.formatHex(Arrays.copyOf(item.order, PREFIX))
          + HEX.formatHex(digest.digest(item.value));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static int count(byte[] stored) {
    return ByteBuffer.wrap(stored).getInt();
  }

  private static byte[] bytes(Item item) {
    return ByteBuffer.allocate(8 + item.order.length + item.value.length)
        .putInt(item.count)
        .putInt(item.order.length)
        .put(item.order)
        .put(item.value)
        .array();
  }

  private static Item item(byte[] stored) {
    ByteBuffer in = ByteBuffer.wrap(stored);
    int count = in.getInt();
    byte[] order = new byte[in.getInt()];
    in.get(order);
    byte[] value = new byte[in.remaining()];
    in.get(value);
    return new Item(order, value, count);
  }

  @Override
  void read(DataInputStream in) throws IOException {
    head.clear();
    spilled = in.readBoolean();
    size = in.readLong();
    for (int left = in.readInt(); left > 0; left--) head.add(item(in.readNBytes(in.readInt())));
  }

  @Override
  void write(DataOutputStream out) throws IOException {
    out.writeBoolean(spilled);
    out.writeLong(size);
    out.writeInt(head.size());
    for (Item item : head) {
      byte[] bytes = bytes(item);
      out.writeInt(bytes.length);
      out.write(bytes);
    }
  }

  @Override
  void clear() {
    head.clear();
    size = 0;
    spilled = false;
  }
}
