package headrace.kernel.sink;

import headrace.kernel.source.TopicIds;
import java.io.Serializable;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The destinations of one run of a query, each written exactly once a batch.
 *
 * <pre>
 * begin:   for each destination: fence earlier runs, read its mark
 *            refuse it if it does not fit the checkpoint or what it confirmed; for a cache: a note
 * open:    check every mark against the batch before anything is written
 *          for each destination: if its mark covers the batch: skip it
 *            else: begin the batch there, and let tasks write
 * commit:  check that no topic of the query was created again
 *          for each destination, one after the other:
 *            if it was skipped: nothing; else: commit rows, dead letters and mark together
 *          write what they confirmed to the checkpoint
 * abort:   abort the batches that were begun
 * </pre>
 *
 * <p>A batch that all destinations skip is still computed: state needs it. A crash between two
 * commits leaves the first with the batch, and the replay skips that one. The run is registered
 * under a name, so that no address or password is an option of the query, where it could be shown.
 */
public final class Destinations {
  private static final Map<String, Destinations> KNOWN = new ConcurrentHashMap<>();

  private final String name;
  private final List<Destination> destinations;
  private final Mark[] marks;

  /** What the checkpoint will hold after this batch. */
  private final Map<String, Confirmed.Last> now = new TreeMap<>();

  private Confirmed confirmed;
  private Batch batch;

  /** By destination; null for one that already has the batch. */
  private BatchWrite[] open;

  private Destinations(String name, List<Destination> destinations) {
    this.name = name;
    this.destinations = List.copyOf(destinations);
    this.marks = new Mark[destinations.size()];
    this.open = new BatchWrite[destinations.size()];
  }

  /** Registers a new run of a query, and closes the destinations of an earlier one. */
  public static void register(String name, List<Destination> destinations) {
    unregister(name);
    KNOWN.put(name, new Destinations(name, destinations));
  }

  /**
   * Makes a destination by the name of its class, below this package, through its constructor with
   * a {@link Context} and {@link Options}. So a new kind of destination is one class, which no list
   * names.
   */
  public static Destination make(String java, Context context, Map<String, Object> options) {
    String name = Destinations.class.getPackageName() + "." + java;
    try {
      return (Destination)
          Class.forName(name)
              .getConstructor(Context.class, Options.class)
              .newInstance(context, new Options(options));
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException cause) throw cause;
      throw new IllegalStateException(name + " can't be made", e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("no destination is called " + name, e);
    }
  }

  public static void unregister(String name) {
    Destinations before = KNOWN.remove(name);
    if (before != null) before.destinations.forEach(Destination::close);
  }

  /**
   * Deletes the marks of the destinations that don't fit the checkpoint, and what the checkpoint
   * holds of them.
   *
   * @return the places of these destinations
   */
  public static List<String> repair(String name, String location, SparkSession spark) {
    Destinations all = named(name);
    Configuration hadoop = spark.sessionState().newHadoopConf();
    Confirmed confirmed = Confirmed.at(location, hadoop);
    List<String> repaired = new ArrayList<>();
    for (Destination destination : all.destinations) {
      try {
        Mark mark = destination.begin();
        Confirmed.Last last = confirmed.last(destination.id());
        Mark.fits(mark, last, confirmed, destination.place());
        if (last != null) destination.check(mark, last);
        if (mark != null && mark.batch() > confirmed.done())
          Mark.covers(
              mark,
              Batch.planned(mark.checkpoint(), mark.batch(), location, hadoop),
              destination.place());
      } catch (MarkException | Batch.UnplannedException e) {
        destination.close();
        destination.forget();
        confirmed.forget(destination.id());
        repaired.add(destination.place());
      }
    }
    unregister(name);
    return repaired;
  }

  /** Deletes the marks of all destinations, and with {@code rows} their rows. */
  public static void forget(String name, boolean rows) {
    for (Destination destination : named(name).destinations) {
      // First, because it fences earlier runs, which could still write.
      destination.forget();
      if (rows) destination.empty();
    }
    unregister(name);
  }

  /**
   * Writes only the dead letters, of a query whose rows another sink writes. A dead letter that is
   * written again replaces itself.
   */
  public static void writeDeadLetters(String name, long number) {
    for (Destination destination : named(name).destinations)
      destination.writeDeadLetters(new Batch("", number, ""));
  }

  /** Null outside of the driver's process. */
  public static Destinations find(String name) {
    return KNOWN.get(name);
  }

  public static Destinations named(String name) {
    Destinations found = find(name);
    if (found == null) throw new SinkException("no sink is called '" + name + "'");
    return found;
  }

  public BatchWrite batchWrite(int index) {
    return open[index];
  }

  /**
   * Reads every destination's mark, and refuses one that does not fit the checkpoint. Runs before
   * the query starts.
   *
   * @param location the checkpoint's
   * @return notes for the user: the caches that have lost something
   */
  public static List<String> begin(String name, String location, SparkSession spark) {
    return named(name).compare(Confirmed.at(location, spark.sessionState().newHadoopConf()));
  }

  /**
   * As {@link #begin}, under a name of its own: py4j calls whichever method of a name it finds
   * first.
   */
  public List<String> compare(Confirmed known) {
    confirmed = known;
    List<String> notes = new ArrayList<>();
    for (int i = 0; i < marks.length; i++) {
      Destination destination = destinations.get(i);
      Confirmed.Last last = confirmed.last(destination.id());
      marks[i] = destination.begin();
      try {
        Mark.fits(marks[i], last, confirmed, destination.place());
        if (last != null) destination.check(marks[i], last);
      } catch (MarkException e) {
        if (!destination.forgetful() || !e.lost()) throw e;
        notes.add(e.getMessage());
      }
      if (last != null)
        now.put(destination.id(), new Confirmed.Last(last.batch(), destination.endOffsets()));
    }
    return notes;
  }

  /** The writers for a batch; null for a destination that already has it. */
  public TaskWriter.Factory[] open(Batch next) {
    if (confirmed == null) throw new SinkException("the sink '" + name + "' was not begun");
    batch = next;
    Point.PLANNED.reached(batch.number());
    // Every mark is checked before one batch is begun: a refusal leaves nothing behind.
    boolean[] has = new boolean[marks.length];
    for (int i = 0; i < marks.length; i++)
      has[i] = Mark.covers(marks[i], batch, destinations.get(i).name());
    open = new BatchWrite[marks.length];
    TaskWriter.Factory[] writers = new TaskWriter.Factory[marks.length];
    for (int i = 0; i < marks.length; i++) {
      if (has[i]) continue;
      open[i] = destinations.get(i).open(batch);
      writers[i] = open[i].taskWriters();
    }
    return writers;
  }

  /**
   * Commits one destination after the other: a crash between two leaves the first with the batch,
   * and the replay skips it.
   */
  public void commit(long number, List<TaskResult> results) {
    if (batch.number() != number)
      throw new SinkException("batch " + number + " is not the one that was begun");
    TopicIds.check(name);
    long rows = results.stream().mapToLong(TaskResult::rows).sum();
    for (int i = 0; i < marks.length; i++) {
      boolean written = open[i] == null;
      if (open[i] != null) {
        int index = i;
        Mark mark = batch.done(rows);
        List<Serializable> parts = new ArrayList<>();
        for (TaskResult result : results) parts.add(result.parts()[index]);
        written = open[i].commit(parts, mark);
        marks[i] = mark;
        open[i] = null;
      }
      if (written)
        now.put(
            destinations.get(i).id(), new Confirmed.Last(number, destinations.get(i).endOffsets()));
    }
    confirmed.write(number, now);
    Point.COMMITTED.reached(number);
  }

  public void abort() {
    Arrays.stream(open).filter(write -> write != null).forEach(BatchWrite::abort);
    Arrays.fill(open, null);
  }

  @Override
  public String toString() {
    return name;
  }
}
