package headrace.kernel.file;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.apache.hadoop.fs.FSDataInputStream;

/**
 * The bytes of a file in order, with their places. The bytes read since {@link #begin} are
 * available as a whole.
 */
final class Bytes {
  static final int END = -1;
  private static final int SIZE = 64 * 1024;
  private static final int LONGEST = 1 << 30;
  private static final int[] BYTE_ORDER_MARK = {0xEF, 0xBB, 0xBF};

  private final InputStream in;
  private byte[] buffer = new byte[SIZE];

  /** Where the buffer begins in the file. */
  private long base;

  private int begin;
  private int at;
  private int filled;

  private Bytes(InputStream in, long base) {
    this.in = in;
    this.base = base;
  }

  static Bytes whole(InputStream in) throws IOException {
    Bytes bytes = new Bytes(in, 0);
    bytes.skipByteOrderMark();
    return bytes;
  }

  /** At the first line that begins here or later. */
  static Bytes from(FSDataInputStream in, long start) throws IOException {
    if (start == 0) return whole(in);
    in.seek(start - 1);
    Bytes bytes = new Bytes(in, start - 1);
    while (true) {
      int next = bytes.read();
      if (next == '\n' || next == END) return bytes;
      bytes.begin();
    }
  }

  /** At this byte, which begins a record. */
  static Bytes at(FSDataInputStream in, long start) throws IOException {
    if (start == 0) return whole(in);
    in.seek(start);
    return new Bytes(in, start);
  }

  /** Of the byte that is read next. */
  long position() {
    return base + at;
  }

  /** Marks the place; drops the bytes before it. */
  void begin() {
    begin = at;
  }

  /** Returns to the mark. */
  void rewind() {
    at = begin;
  }

  /** The number of bytes read since. */
  int length() {
    return at - begin;
  }

  void skipTo(long position) throws IOException {
    while (position() < position && read() != END) begin();
  }

  int read() throws IOException {
    if (at == filled && !fill()) return END;
    return buffer[at++] & 0xFF;
  }

  int peek() throws IOException {
    return at == filled && !fill() ? END : buffer[at] & 0xFF;
  }

  /** To the end of the line; false at the end of the file, if nothing was left. */
  boolean readLine() throws IOException {
    while (true) {
      for (; at < filled; at++) {
        if (buffer[at] == '\n') {
          at++;
          return true;
        }
      }
      if (!fill()) return at > begin;
    }
  }

  /** The bytes since the mark, without the end of their line. */
  byte[] taken() {
    int end = at;
    if (end > begin && buffer[end - 1] == '\n') end--;
    if (end > begin && buffer[end - 1] == '\r') end--;
    return Arrays.copyOfRange(buffer, begin, end);
  }

  private boolean fill() throws IOException {
    if (begin > 0) {
      System.arraycopy(buffer, begin, buffer, 0, filled - begin);
      base += begin;
      at -= begin;
      filled -= begin;
      begin = 0;
    }
    if (filled == buffer.length) {
      if (filled > LONGEST / 2)
        throw new IOException("a record of more than " + LONGEST + " bytes begins at byte " + base);
      buffer = Arrays.copyOf(buffer, filled * 2);
    }
    int count = in.read(buffer, filled, buffer.length - filled);
    if (count <= 0) return false;
    filled += count;
    return true;
  }

  private void skipByteOrderMark() throws IOException {
    for (int i = 0; i < BYTE_ORDER_MARK.length; i++) {
      if (read() != BYTE_ORDER_MARK[i]) {
        at = 0;
        return;
      }
    }
    begin();
  }
}
