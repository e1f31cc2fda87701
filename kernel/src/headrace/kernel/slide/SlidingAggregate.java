package headrace.kernel.slide;

import headrace.kernel.block.Key;
import headrace.kernel.table.Operator;
import headrace.kernel.table.StateFormatException;
import headrace.kernel.table.aggregate.Calls;
import headrace.kernel.table.aggregate.Group;
import headrace.kernel.window.EmitMode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Windows of one size that slide with the events: a window ends at each time at which an event
 * enters or leaves, and holds the events in {@code (end - size, end]}. The row of an event holds
 * the arguments of the aggregates.
 *
 * <pre>
 * state: slide, the watermark, the timer, positions in the events,
 *        the accumulators as of the watermark ({@link Group})
 *        events, in the order of their times, in chunks ({@link Events})
 *        values0 ..., maps of accumulators
 *
 * drop events that are not after the watermark of their arrival; count them as late
 * add the other events of the batch
 * sweep(to the watermark): for each time at which an event enters or leaves, in order:
 *   add the events that enter to the accumulators, retract those that leave
 *   emit the window if it ends after the newest event of earlier batches, if the batch
 *     changes it, or if final windows are emitted and this sweep is the one to the watermark
 * store the state; set a timer for the next end; without one, clear the state
 * if updates are emitted: sweep on, up to the last window that the batch changes, but not past
 *   the newest event; then go back to the watermark
 * </pre>
 *
 * <p>Up to the watermark, each event is added once and retracted once. Windows after it are not
 * final: each batch repeats their sweep, from the accumulators as of the watermark. Accumulators
 * without maps are stored before that sweep, so they need not go back.
 */
final class SlidingAggregate extends Operator {
  private static final byte FORMAT = 1;
  private static final long NO_TIMER = Long.MIN_VALUE;

  private final Calls calls;
  private final long size;
  private final EmitMode emit;
  private transient ValueState<byte[]> state;
  private transient Events events;
  private transient Group group;
  private transient boolean maps;
  private transient Arrivals arrivals;
  private transient WindowRows windows;
  private transient long frontier;
  private transient long timer;

  SlidingAggregate(Calls calls, long size, EmitMode emit) {
    if (emit == EmitMode.EVERY) throw new IllegalArgumentException("sliding windows have no ticks");
    this.calls = calls;
    this.size = size;
    this.emit = emit;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = value("slide");
    events = new Events(map("events"));
    int[] count = {0};
    group = new Group(calls, () -> map("values" + count[0]++));
    maps = count[0] > 0;
    arrivals = new Arrivals();
    windows = new WindowRows(calls, size, OUT, ENOUGH);
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    return slide(key, input.left(), times, NO_TIMER);
  }

  @Override
  public scala.collection.Iterator<byte[]> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    return CollectionConverters.asScala(
        slide(Key.row(key), List.of(), times, expired.getExpiryTimeInMs()));
  }

  /** {@code expired}: the timer that fired, which Spark itself deletes. */
  private Iterator<byte[]> slide(byte[] key, List<byte[]> blocks, TimerValues times, long expired) {
    byte[] kept = state.get();
    read(kept);
    if (timer == expired) timer = NO_TIMER;
    int late = arrivals.read(blocks, frontier);
    frontier = Math.max(frontier, times.getCurrentWatermarkInMs() * 1000);
    long emitted = events.newest();
    Changed changed = new Changed(arrivals, size);
    windows.begin(key);
    events.add(arrivals);
    sweep(frontier, emitted, changed, true);
    events.store();
    wake(next());
    boolean ahead = emit != EmitMode.FINAL && arrivals.size() > 0;
    // Accumulators without maps are stored before the sweep ahead, so they need not go back.
    if (!maps) keep(kept);
    if (ahead) {
      sweep(
          emitted < events.newest() ? events.newest() : Math.min(emitted, changed.last()),
          emitted,
          changed,
          false);
      if (maps) events.back(group);
    }
    if (maps) keep(kept);
    arrivals.clear();
    return with(windows.end(), LATE, late);
  }

  /** Where the next window ends. */
  private long next() {
    long leaves = events.leaving();
    return Math.min(events.entering(), leaves == Events.NONE ? Events.NONE : leaves + size);
  }

  /**
   * Sweeps up to a time. Windows that end at {@code emitted} or before have been emitted already,
   * as of then.
   */
  private void sweep(long to, long emitted, Changed changed, boolean last) {
    boolean all = last && emit != EmitMode.UPDATES;
    for (long end = next(); end <= to && end != Events.NONE; end = next()) {
      int entered = 0;
      for (; events.entering() == end; entered++) events.enter(group);
      int left = 0;
      for (; events.leaving() == end - size; left++) events.leave(group);
      boolean differs = changed.at(end, entered, left);
      if (all || differs || end > emitted) windows.emit(end, last, group);
    }
  }

  /** Sets the timer to the time at which the watermark must wake the key. */
  private void wake(long time) {
    long millis = time == Events.NONE ? NO_TIMER : -Math.floorDiv(-time, 1000L);
    if (millis == timer) return;
    if (timer != NO_TIMER) getHandle().deleteTimer(timer);
    if (millis != NO_TIMER) getHandle().registerTimer(millis);
    timer = millis;
  }

  private void read(byte[] bytes) {
    group.clear();
    events.clear();
    frontier = Long.MIN_VALUE;
    timer = NO_TIMER;
    if (bytes == null) return;
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    try (DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(bytes, 1, bytes.length))) {
      frontier = in.readLong();
      timer = in.readLong();
      events.read(in);
      group.read(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A key without a timer has no events left: its state is cleared. */
  private void keep(byte[] before) {
    if (timer != NO_TIMER) state.update(write());
    else if (before != null) state.clear();
  }

  private byte[] write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(FORMAT);
      out.writeLong(frontier);
      out.writeLong(timer);
      events.write(out);
      group.write(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
