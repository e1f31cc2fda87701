package headrace.kernel.window;

import headrace.kernel.block.Key;
import headrace.kernel.table.Operator;
import headrace.kernel.window.frame.Cumulating;
import headrace.kernel.window.frame.Frames;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Aggregates the events of a key in windows of event time. The row of an event holds the arguments
 * of the functions ({@link Aggregates}).
 *
 * <pre>
 * state: windows, open windows with their buffers, events that wait, the timer ({@link KeyState})
 *
 * count each window of an event that was closed when the event arrived as late
 * drop events that have no open window
 * run the {@link EmitPolicy}:
 *   add events to their open windows; sessions that overlap merge
 *   emit and retract as the policy says
 *   remove windows whose end the watermark has passed
 * if the policy has more to do later: set a timer for it, store the state
 * else: clear the state
 * </pre>
 *
 * <p>The events of a batch are added before its watermark closes windows. With {@link
 * EmitPerBatch}, functions see the events of a batch in the order of their times, after all events
 * of earlier batches; where events wait, all in the order of their times: that is the order of
 * first, last and collect_list. The result is a {@link headrace.kernel.block.Pair} of the key and a
 * row: start, end, whether it is final, results.
 */
public final class WindowAggregate extends Operator {
  private final Functions functions;
  private final Frames frames;
  private final EmitPolicy policy;
  private transient ValueState<byte[]> state;
  private transient Results results;

  /** {@code tick}: of {@link EmitMode#EVERY}. */
  public WindowAggregate(Functions functions, Frames frames, EmitMode emit, long tick) {
    this.functions = functions;
    this.frames = frames;
    this.policy = policy(frames, emit, tick);
  }

  private static EmitPolicy policy(Frames frames, EmitMode emit, long tick) {
    if (emit == EmitMode.EVERY) return new EmitAtTicks(frames, tick);
    if (emit == EmitMode.FINAL && frames instanceof Cumulating steps) return new EmitAtSteps(steps);
    return new EmitPerBatch(emit != EmitMode.FINAL, emit != EmitMode.UPDATES);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = value("windows");
    results = new Results(functions);
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    List<Event> events = Event.of(input.left());
    int late = events.stream().mapToInt(this::missed).sum();
    // Drop events that are in no window, or late for all of theirs.
    if (late > 0 || frames.gaps())
      events.removeIf(event -> missed(event) == frames.windowsOf(event.time()).size());
    return with(run(key, events, times.getCurrentWatermarkInMs()), LATE, late);
  }

  /** How many windows of an event were closed when it arrived. */
  private int missed(Event event) {
    // The usual case needs no windows: all of them end after the event.
    if (event.time() >= event.closed()) return 0;
    return (int)
        frames.windowsOf(event.time()).stream()
            .filter(window -> window.end() <= event.closed())
            .count();
  }

  @Override
  public scala.collection.Iterator<byte[]> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo timer) {
    return CollectionConverters.asScala(
        run(Key.row(key), List.of(), times.getCurrentWatermarkInMs()));
  }

  private Iterator<byte[]> run(byte[] key, List<Event> events, long millis) {
    byte[] kept = state.get();
    KeyState known =
        new KeyState(
            new OpenWindows(
                policy instanceof EmitAtSteps steps ? steps.frames().periods() : frames, results));
    if (kept != null) known.read(kept);
    Emitter out = new Emitter(key);
    // The rows of this batch have already done the work of this timer.
    if (events.isEmpty() && known.timer() > millis) return out.blocks();
    long due = policy.run(known, events, millis * 1000, out);
    if (due != EmitPolicy.NEVER) {
      wake(known, due, millis);
      state.update(known.write());
    } else if (kept != null) {
      state.clear();
    }
    return out.blocks();
  }

  /** Sets a timer for the time due, unless an earlier one is set: that one will set the next. */
  private void wake(KeyState known, long due, long now) {
    // Spark fires a timer when the watermark has reached it.
    long millis = -Math.floorDiv(-due, 1000L);
    if (known.timer() > now && known.timer() <= millis) return;
    getHandle().registerTimer(millis);
    known.timer(millis);
  }
}
