package headrace.kernel.window;

import headrace.kernel.table.StateFormatException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.PriorityQueue;

/**
 * The state of a key: format, its timer, the last moment emitted, its open windows, and the events
 * that wait.
 */
final class KeyState {
  static final long NONE = Long.MIN_VALUE;
  private static final byte FORMAT = 1;

  private final OpenWindows open;
  private final PriorityQueue<Event> waiting = new PriorityQueue<>(Event.ORDER);
  private long timer = NONE;
  private long passed = NONE;

  KeyState(OpenWindows open) {
    this.open = open;
  }

  OpenWindows open() {
    return open;
  }

  /** The waiting events, earliest first. */
  PriorityQueue<Event> waiting() {
    return waiting;
  }

  /** The key's next timer, in milliseconds. */
  long timer() {
    return timer;
  }

  void timer(long millis) {
    timer = millis;
  }

  /** The last moment that was emitted, or NONE. */
  long passed() {
    return passed;
  }

  void passed(long moment) {
    passed = moment;
  }

  /** Resets the key, except for the events that wait. */
  void forget() {
    open.clear();
    passed = NONE;
  }

  void read(byte[] bytes) {
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    try (DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(bytes, 1, bytes.length))) {
      timer = in.readLong();
      passed = in.readLong();
      open.read(in);
      for (int left = in.readInt(); left > 0; left--) {
        waiting.add(
            new Event(in.readLong(), in.readLong(), in.readLong(), in.readNBytes(in.readInt())));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  byte[] write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(FORMAT);
      out.writeLong(timer);
      out.writeLong(passed);
      open.write(out);
      out.writeInt(waiting.size());
      for (Event event : waiting) {
        out.writeLong(event.time());
        out.writeLong(event.sequence());
        out.writeLong(event.closed());
        out.writeInt(event.row().length);
        out.write(event.row());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
