package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import org.apache.spark.unsafe.Platform;

/** The newest row of a key, stored as: format, whether there is a row, version, time, the row. */
record StoredRow(long version, long time, byte[] row) {
  static final byte FORMAT = 1;
  static final StoredRow NONE = new StoredRow(Block.NO_VERSION, 0, null);
  private static final int HEAD = 18;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  static StoredRow read(byte[] bytes) {
    if (bytes == null) return NONE;
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    byte[] row = null;
    if (bytes[1] == 1) {
      row = new byte[bytes.length - HEAD];
      System.arraycopy(bytes, HEAD, row, 0, row.length);
    }
    return new StoredRow(
        Platform.getLong(bytes, START + 2), Platform.getLong(bytes, START + 10), row);
  }

  byte[] write() {
    byte[] bytes = new byte[HEAD + (row == null ? 0 : row.length)];
    bytes[0] = FORMAT;
    bytes[1] = (byte) (row == null ? 0 : 1);
    Platform.putLong(bytes, START + 2, version);
    Platform.putLong(bytes, START + 10, time);
    if (row != null) System.arraycopy(row, 0, bytes, HEAD, row.length);
    return bytes;
  }

  /**
   * A change with a version older than the known one is out of date. One without a version never
   * is.
   */
  boolean refuses(Change change) {
    return change.version() != Block.NO_VERSION && change.version() < version;
  }

  /** The row after a change; if the row is the same, so is its time. */
  StoredRow with(Change change) {
    long newer = change.version() == Block.NO_VERSION ? version : change.version();
    return Change.same(row, change.after())
        ? new StoredRow(newer, time, row)
        : new StoredRow(newer, change.time(), change.after());
  }

  boolean present() {
    return row != null;
  }
}
