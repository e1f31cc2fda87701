package headrace.kernel.sink;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The ends of one query's run. A batch goes to each end that does not have it; those that have it are passed over, and the batch
 * is still computed to its end, because its state has to be.
 *
 * <p>Known by a name, so that nothing of it (addresses, passwords) is an option of the query, where it could be shown.
 */
public final class Sink {
  private static final Map<String, Sink> KNOWN = new ConcurrentHashMap<>();

  private final String name;
  private final List<End> ends;
  private final Mark[] marks;
  private final Map<Long, Long> filtered = new ConcurrentHashMap<>();
  private boolean begun;
  private Batch batch;
  /** By end; null for one that has the batch. */
  private Writing[] open;

  private Sink(String name, List<End> ends) {
    this.name = name;
    this.ends = List.copyOf(ends);
    this.marks = new Mark[ends.size()];
    this.open = new Writing[ends.size()];
  }

  /** For a new run of a query; what an earlier one left is closed. */
  public static void register(String name, List<End> ends) {
    unregister(name);
    KNOWN.put(name, new Sink(name, ends));
  }

  public static void unregister(String name) {
    Sink before = KNOWN.remove(name);
    if (before != null) before.ends.forEach(End::close);
  }

  /** All of its ends forget what they have. */
  public static void forget(String name) {
    named(name).ends.forEach(End::forget);
    unregister(name);
  }

  /** The dead letters alone, of a query whose rows another sink writes. A letter that comes again takes its own place. */
  public static void bury(String name, long number) {
    Sink sink = named(name);
    for (End end : sink.ends) if (end instanceof KafkaEnd kafka) kafka.bury(new Batch("", number, ""));
  }

  /** How many records of a batch did not match the query's conditions; asked once. */
  public static long filtered(String name, long number) {
    Sink sink = find(name);
    Long count = sink == null ? null : sink.filtered.remove(number);
    return count == null ? 0 : count;
  }

  /** Null in a process that is not the driver's. */
  static Sink find(String name) {
    return KNOWN.get(name);
  }

  static Sink named(String name) {
    Sink sink = find(name);
    if (sink == null) throw new SinkException("no sink is called '" + name + "'");
    return sink;
  }

  Writing writing(int end) {
    return open[end];
  }

  /** The pens for a batch; null for an end that has it. */
  Pen[] open(Batch next) {
    if (!begun) {
      for (int i = 0; i < marks.length; i++) marks[i] = ends.get(i).begin();
      begun = true;
    }
    batch = next;
    Point.PLANNED.reached(batch.number());
    // All are asked before one is opened: a refusal leaves nothing behind.
    boolean[] has = new boolean[marks.length];
    for (int i = 0; i < marks.length; i++) has[i] = Mark.covers(marks[i], batch, ends.get(i).name());
    open = new Writing[marks.length];
    Pen[] pens = new Pen[marks.length];
    for (int i = 0; i < marks.length; i++) {
      if (has[i]) continue;
      open[i] = ends.get(i).open(batch);
      pens[i] = open[i].pen();
    }
    return pens;
  }

  /** One end after the other: a crash between two leaves the first with the batch, and the replay passes it over. */
  void commit(long number, List<Note> notes) {
    if (batch.number() != number) throw new SinkException("batch " + number + " is not the one that was begun");
    long rows = notes.stream().mapToLong(Note::rows).sum();
    for (int i = 0; i < marks.length; i++) {
      if (open[i] == null) continue;
      int end = i;
      Mark mark = batch.done(rows);
      List<Serializable> parts = new ArrayList<>();
      for (Note note : notes) parts.add(note.parts()[end]);
      open[i].commit(parts, mark);
      marks[i] = mark;
      open[i] = null;
    }
    filtered.put(number, Filtered.now());
    Point.COMMITTED.reached(number);
  }

  void abort() {
    Arrays.stream(open).filter(writing -> writing != null).forEach(Writing::abort);
    Arrays.fill(open, null);
  }

  @Override
  public String toString() {
    return name;
  }
}
