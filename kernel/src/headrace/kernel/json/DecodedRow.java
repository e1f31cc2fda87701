package headrace.kernel.json;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.BinaryView;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.TimestampNanosVal;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * A row just decoded: primitives as bits in one array, everything else in another; nothing is
 * boxed.
 */
final class DecodedRow extends InternalRow {
  private final Reader[] readers;
  private final long[] bits; // a word per field, then the bitmap of the fields that are set
  private final Object[] objects;

  DecodedRow(Reader[] readers) {
    int n = readers.length;
    this.readers = readers;
    this.bits = new long[n + ((n + 63) >>> 6)];
    this.objects = new Object[n];
  }

  void putBits(int i, long value) {
    bits[i] = value;
    bits[objects.length + (i >>> 6)] |= 1L << i;
  }

  void put(int i, Object value) {
    objects[i] = value;
    bits[objects.length + (i >>> 6)] |= 1L << i;
  }

  @Override
  public void setNullAt(int i) {
    bits[objects.length + (i >>> 6)] &= ~(1L << i);
  }

  @Override
  public boolean isNullAt(int i) {
    return (bits[objects.length + (i >>> 6)] & 1L << i) == 0;
  }

  @Override
  public int numFields() {
    return objects.length;
  }

  @Override
  public boolean getBoolean(int i) {
    return bits[i] != 0;
  }

  @Override
  public byte getByte(int i) {
    return (byte) bits[i];
  }

  @Override
  public short getShort(int i) {
    return (short) bits[i];
  }

  @Override
  public int getInt(int i) {
    return (int) bits[i];
  }

  @Override
  public long getLong(int i) {
    return bits[i];
  }

  @Override
  public float getFloat(int i) {
    return Float.intBitsToFloat((int) bits[i]);
  }

  @Override
  public double getDouble(int i) {
    return Double.longBitsToDouble(bits[i]);
  }

  @Override
  public Decimal getDecimal(int i, int precision, int scale) {
    return isNullAt(i) ? null : (Decimal) objects[i];
  }

  @Override
  public UTF8String getUTF8String(int i) {
    return isNullAt(i) ? null : (UTF8String) objects[i];
  }

  @Override
  public byte[] getBinary(int i) {
    return isNullAt(i) ? null : (byte[]) objects[i];
  }

  @Override
  public BinaryView getBinaryView(int i) {
    return isNullAt(i) ? null : BinaryView.fromBytes((byte[]) objects[i]);
  }

  @Override
  public VariantVal getVariant(int i) {
    return isNullAt(i) ? null : (VariantVal) objects[i];
  }

  @Override
  public InternalRow getStruct(int i, int fields) {
    return isNullAt(i) ? null : (InternalRow) objects[i];
  }

  @Override
  public ArrayData getArray(int i) {
    return isNullAt(i) ? null : (ArrayData) objects[i];
  }

  @Override
  public MapData getMap(int i) {
    return isNullAt(i) ? null : (MapData) objects[i];
  }

  @Override
  public CalendarInterval getInterval(int i) {
    throw new UnsupportedOperationException();
  }

  @Override
  public TimestampNanosVal getTimestampNTZNanos(int i) {
    throw new UnsupportedOperationException();
  }

  @Override
  public TimestampNanosVal getTimestampLTZNanos(int i) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object get(int i, DataType type) {
    return value(i);
  }

  private Object value(int i) {
    if (isNullAt(i)) return null;
    return readers[i] instanceof BitsReader primitive ? primitive.box(bits[i]) : objects[i];
  }

  @Override
  public void update(int i, Object value) {
    throw new UnsupportedOperationException("a decoded row is not written to; copy it");
  }

  @Override
  public InternalRow copy() {
    Object[] values = new Object[objects.length];
    for (int i = 0; i < values.length; i++) values[i] = InternalRow.copyValue(value(i));
    return new GenericInternalRow(values);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DecodedRow row && copy().equals(row.copy());
  }

  @Override
  public int hashCode() {
    return copy().hashCode();
  }

  @Override
  public String toString() {
    return copy().toString();
  }
}
