package headrace.kernel.sink;

import headrace.kernel.source.TopicIds;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.classic.SparkSession;

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
  /** In memory what the checkpoint knows after the batch at hand. */
  private final Map<String, Confirmed.Last> now = new TreeMap<>();
  private Confirmed confirmed;
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

  /**
   * Those of its destinations that don't fit the checkpoint forget their marks, and the checkpoint what they have confirmed.
   *
   * @return the destinations that did
   */
  public static List<String> repair(String name, String location, SparkSession spark) {
    Sink sink = named(name);
    Configuration hadoop = spark.sessionState().newHadoopConf();
    Confirmed confirmed = Confirmed.at(location, hadoop);
    List<String> repaired = new ArrayList<>();
    for (End end : sink.ends) {
      try {
        Mark mark = end.begin();
        Confirmed.Last last = confirmed.last(end.id());
        Mark.fits(mark, last, confirmed, end.place());
        if (last != null) end.check(mark, last);
        if (mark != null && mark.batch() > confirmed.done()) Mark.covers(mark, Batch.planned(mark.checkpoint(), mark.batch(), location, hadoop), end.place());
      } catch (MarkException | Batch.UnplannedException e) {
        end.close();
        end.forget();
        confirmed.forget(end.id());
        repaired.add(end.place());
      }
    }
    unregister(name);
    return repaired;
  }

  /** All of its destinations forget what they have, and with {@code rows} delete it. */
  public static void forget(String name, boolean rows) {
    for (End end : named(name).ends) {
      // First, because it ends earlier runs, which could write on.
      end.forget();
      if (rows) end.empty();
    }
    unregister(name);
  }

  /** The dead letters alone, of a query whose rows another sink writes. A letter that comes again takes its own place. */
  public static void bury(String name, long number) {
    Sink sink = named(name);
    for (End end : sink.ends) if (end instanceof KafkaEnd kafka) kafka.bury(new Batch("", number, ""));
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

  /**
   * Asks every destination what it has, and refuses one that does not fit the checkpoint. To be called before the query starts.
   *
   * @param location the checkpoint's
   * @return what a person should know: the caches that have lost something
   */
  public static List<String> begin(String name, String location, SparkSession spark) {
    return named(name).begin(Confirmed.at(location, spark.sessionState().newHadoopConf()));
  }

  List<String> begin(Confirmed known) {
    confirmed = known;
    List<String> notes = new ArrayList<>();
    for (int i = 0; i < marks.length; i++) {
      End end = ends.get(i);
      Confirmed.Last last = confirmed.last(end.id());
      marks[i] = end.begin();
      try {
        Mark.fits(marks[i], last, confirmed, end.place());
        if (last != null) end.check(marks[i], last);
      } catch (MarkException e) {
        if (!end.forgetful() || !e.lost()) throw e;
        notes.add(e.getMessage());
      }
      if (last != null) now.put(end.id(), new Confirmed.Last(last.batch(), end.ends()));
    }
    return notes;
  }

  /** The pens for a batch; null for an end that has it. */
  Pen[] open(Batch next) {
    if (confirmed == null) throw new SinkException("the sink '" + name + "' was not begun");
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
    TopicIds.check(name);
    long rows = notes.stream().mapToLong(Note::rows).sum();
    for (int i = 0; i < marks.length; i++) {
      boolean written = open[i] == null;
      if (open[i] != null) {
        int end = i;
        Mark mark = batch.done(rows);
        List<Serializable> parts = new ArrayList<>();
        for (Note note : notes) parts.add(note.parts()[end]);
        written = open[i].commit(parts, mark);
        marks[i] = mark;
        open[i] = null;
      }
      if (written) now.put(ends.get(i).id(), new Confirmed.Last(number, ends.get(i).ends()));
    }
    confirmed.write(number, now);
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
