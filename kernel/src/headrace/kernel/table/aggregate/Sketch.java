package headrace.kernel.table.aggregate;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;
import org.apache.hadoop.io.WritableUtils;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;

/**
 * approx_percentile. Counts values by buckets that are wider the larger their values are ({@link
 * Buckets}): before it is rounded to its type, a result is off by 1% at most, whatever accuracy is
 * requested. A retracted value is removed from its bucket.
 */
final class Sketch extends Accumulator {
  private int[] buckets = new int[16];
  private long[] counts = new long[16];
  private int size;
  private long count;

  Sketch(Call call) {
    super(call);
  }

  @Override
  void count(UnsafeRow row, int by, long time) {
    if (row.isNullAt(call.first())) return;
    Object value = row.get(call.first(), call.argument());
    int bucket =
        Buckets.of(
            value instanceof Decimal decimal ? decimal.toDouble() : ((Number) value).doubleValue());
    count += by;
    int at = Arrays.binarySearch(buckets, 0, size, bucket);
    if (at < 0) insert(-at - 1, bucket, by);
    else if ((counts[at] += by) == 0) remove(at);
  }

  private void insert(int at, int bucket, int by) {
    if (size == buckets.length) room(size * 2);
    System.arraycopy(buckets, at, buckets, at + 1, size - at);
    System.arraycopy(counts, at, counts, at + 1, size - at);
    buckets[at] = bucket;
    counts[at] = by;
    size++;
  }

  private void remove(int at) {
    size--;
    System.arraycopy(buckets, at + 1, buckets, at, size - at);
    System.arraycopy(counts, at + 1, counts, at, size - at);
  }

  private void room(int length) {
    buckets = Arrays.copyOf(buckets, length);
    counts = Arrays.copyOf(counts, length);
  }

  @Override
  Object result() {
    if (count == 0) return null;
    if (!(call.result() instanceof ArrayType many)) return value(call.parts()[0], call.result());
    return new GenericArrayData(
        Arrays.stream(call.parts()).mapToObj(part -> value(part, many.elementType())).toArray());
  }

  /** The smallest value that this part of the values does not exceed, by Spark's definition. */
  private Object value(double part, DataType type) {
    long left = Math.max(1, (long) Math.ceil(part * count));
    int at = 0;
    while (at < size - 1 && (left -= counts[at]) > 0) at++;
    return typed(Buckets.value(buckets[at]), type);
  }

  private static Object typed(double value, DataType type) {
    if (type instanceof DoubleType) return value;
    if (type instanceof FloatType) return (float) value;
    if (type instanceof DecimalType decimal) return decimal(value, decimal);
    long whole = Math.round(value);
    if (type instanceof ByteType)
      return (byte) Math.max(Byte.MIN_VALUE, Math.min(Byte.MAX_VALUE, whole));
    if (type instanceof ShortType)
      return (short) Math.max(Short.MIN_VALUE, Math.min(Short.MAX_VALUE, whole));
    if (type instanceof IntegerType)
      return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, whole));
    return whole;
  }

  /** The bucket of the largest values reaches above what the type can hold. */
  private static Decimal decimal(double value, DecimalType type) {
    BigDecimal most =
        BigDecimal.TEN.pow(type.precision()).subtract(BigDecimal.ONE).movePointLeft(type.scale());
    BigDecimal rounded =
        new BigDecimal(value)
            .setScale(type.scale(), RoundingMode.HALF_UP)
            .min(most)
            .max(most.negate());
    return Decimal.apply(
        new scala.math.BigDecimal(rounded, MathContext.UNLIMITED), type.precision(), type.scale());
  }

  @Override
  void read(DataInputStream in) throws IOException {
    count = 0;
    size = WritableUtils.readVInt(in);
    if (size > buckets.length) room(size);
    int bucket = 0;
    for (int i = 0; i < size; i++) {
      buckets[i] = bucket += WritableUtils.readVInt(in);
      count += counts[i] = WritableUtils.readVLong(in);
    }
  }

  @Override
  void write(DataOutputStream out) throws IOException {
    WritableUtils.writeVInt(out, size);
    int bucket = 0;
    for (int i = 0; i < size; i++) {
      WritableUtils.writeVInt(out, buckets[i] - bucket);
      WritableUtils.writeVLong(out, counts[i]);
      bucket = buckets[i];
    }
  }

  @Override
  void clear() {
    size = 0;
    count = 0;
  }
}
