package headrace.kernel.window;

import headrace.kernel.window.frame.Span;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * An open window of a key: the number of its events, the functions' buffer, and what was emitted of
 * it.
 *
 * <p>Its buffer is unpacked when it is needed. The emitted row is stored only if the window has
 * changed since; otherwise it is computed from the buffer.
 */
final class Window {
  private static final long NEVER = Long.MIN_VALUE;

  private final Results results;
  private Span span;
  private long events = 0;
  private long emittedAt = NEVER;
  private byte[] emitted;
  private byte[] packed;
  private InternalRow buffer;
  private boolean touched = false;

  private Window(Results results, Span span) {
    this.results = results;
    this.span = span;
  }

  /** Without events. */
  static Window empty(Results results, Span span) {
    Window window = new Window(results, span);
    window.buffer = results.buffers().empty();
    return window;
  }

  Span span() {
    return span;
  }

  boolean hasEvents() {
    return events > 0;
  }

  /** Whether it has new events since it was emitted or read. */
  boolean isTouched() {
    return touched;
  }

  boolean wasEmitted() {
    return emittedAt != NEVER;
  }

  /** The time of its last emit. */
  long emittedAt() {
    return emittedAt;
  }

  void add(Event event) {
    change();
    events++;
    UnsafeRow row = new UnsafeRow(results.arguments());
    row.pointTo(event.row(), event.row().length);
    results.buffers().update(buffer, row);
  }

  /** Adds the events of another window, as if they came after those of this one. */
  void add(Window other) {
    change();
    other.change();
    events += other.events;
    results.buffers().merge(buffer, other.buffer);
  }

  /** Extends a session. */
  void stretch(long end) {
    change();
    span = new Span(span.start(), Math.max(span.end(), end));
  }

  private void change() {
    if (wasEmitted()) emitted();
    unpack();
    packed = null;
    touched = true;
  }

  /** The row that was emitted last. */
  byte[] emitted() {
    if (emitted == null) emitted = row(false);
    return emitted;
  }

  /** Its row as of now. */
  byte[] row(boolean last) {
    unpack();
    return results.row(span, last, buffer);
  }

  /** The final row of a part of it. */
  byte[] row(Span part) {
    unpack();
    return results.row(part, true, buffer);
  }

  void emit(long time) {
    emitted = null;
    emittedAt = time;
    touched = false;
  }

  private void unpack() {
    if (buffer == null) buffer = results.buffers().read(packed);
  }

  /**
   * Start, end, number of events, time of the last emit, the emitted row if the buffer has changed
   * since, the buffer.
   */
  void write(DataOutputStream out) throws IOException {
    out.writeLong(span.start());
    out.writeLong(span.end());
    out.writeLong(events);
    out.writeLong(emittedAt);
    out.writeInt(emitted == null ? -1 : emitted.length);
    if (emitted != null) out.write(emitted);
    if (packed == null) packed = results.buffers().write(buffer);
    out.writeInt(packed.length);
    out.write(packed);
  }

  static Window read(Results results, DataInputStream in) throws IOException {
    Window window = new Window(results, new Span(in.readLong(), in.readLong()));
    window.events = in.readLong();
    window.emittedAt = in.readLong();
    int length = in.readInt();
    window.emitted = length < 0 ? null : in.readNBytes(length);
    window.packed = in.readNBytes(in.readInt());
    return window;
  }
}
