package headrace.kernel.log;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A log in this JVM that stands where Kafka stands in tests.
 *
 * <p>Readers see a log up to its last <em>cut</em>. Cuts are numbered across the log, from 1, and a
 * query steps from one to the next: a batch holds exactly what came between two cuts, in every
 * topic the query reads. A cut that brought nothing to the query's topics is passed over, unless it
 * brought nothing to anybody: such a cut makes an empty batch. A sink's commit appends its epoch
 * and cuts the topics it wrote to, leaving what others have begun elsewhere alone.
 */
public final class MemoryLog {
  private static final Map<String, MemoryLog> LOGS = new ConcurrentHashMap<>();

  private final Map<String, Topic> topics = new TreeMap<>();
  private final TreeSet<Integer> emptyCuts = new TreeSet<>();
  private final Map<String, Long> committed = new HashMap<>();
  private final Map<String, Integer> reached = new HashMap<>();
  private final Map<String, Lockstep> queries = new HashMap<>();
  private int cuts;
  private long clock;

  private MemoryLog() {}

  public static void create(String log) {
    if (LOGS.putIfAbsent(log, new MemoryLog()) != null) {
      throw new IllegalArgumentException("there is already a memory log '" + log + "'");
    }
  }

  public static void drop(String log) {
    LOGS.remove(log);
  }

  /** Topics named without being created have 1 partition. */
  public static void createTopic(String log, String topic, int partitions) {
    MemoryLog it = named(log);
    synchronized (it) {
      Topic present = it.topics.computeIfAbsent(topic, name -> new Topic(partitions));
      if (present.partitionCount() != partitions) {
        throw new IllegalArgumentException(
            "topic '"
                + topic
                + "' has "
                + present.partitionCount()
                + " partitions already, not "
                + partitions);
      }
    }
  }

  /** Appends records packed by {@link Packed}; returns how many. */
  public static int append(String log, String topic, byte[] records) {
    MemoryLog it = named(log);
    synchronized (it) {
      Topic to = it.topic(topic);
      return Packed.unpack(
          records,
          (partition, micros, key, value) -> {
            to.append(partition, micros, key, value, null, -1, -1);
            it.clock = Math.max(it.clock, micros);
          });
    }
  }

  /** Appends a punctuation: event time moves, nothing happens. */
  public static void advance(String log, String topic, long micros) {
    MemoryLog it = named(log);
    synchronized (it) {
      it.topic(topic).append(0, micros, null, null, micros, -1, -1);
      it.clock = Math.max(it.clock, micros);
    }
  }

  /**
   * Ends the present interval, in all topics, and lets readers have it; returns the number of the
   * cut.
   */
  public static int cut(String log) {
    MemoryLog it = named(log);
    synchronized (it) {
      if (!it.cut(it.topics.values())) it.emptyCuts.add(it.cuts);
      return it.cuts;
    }
  }

  /**
   * The topic's records from the given arrival on, cut or not, without punctuations, as {@link
   * Packed} packs them.
   */
  public static byte[] read(String log, String topic, int from) {
    MemoryLog it = named(log);
    synchronized (it) {
      return Packed.pack(it.topic(topic).arrivals(from));
    }
  }

  /** How many records, and punctuations, have arrived in the topic. */
  public static int size(String log, String topic) {
    MemoryLog it = named(log);
    synchronized (it) {
      return it.topic(topic).size();
    }
  }

  /** How many records have arrived in the topic. */
  public static long records(String log, String topic) {
    MemoryLog it = named(log);
    synchronized (it) {
      return it.topic(topic).arrivals(0).stream()
          .filter(record -> record.advance() == null)
          .count();
    }
  }

  static MemoryLog named(String log) {
    MemoryLog found = log == null ? null : LOGS.get(log);
    if (found == null) {
      throw new IllegalArgumentException(
          "no memory log '" + log + "'; existing logs: " + new TreeSet<>(LOGS.keySet()));
    }
    return found;
  }

  synchronized int lastCut() {
    return cuts;
  }

  /**
   * Cuts if something waits for it: a query over all that is available has no use for an open
   * interval.
   */
  synchronized int closeInterval() {
    if (topics.values().stream().anyMatch(Topic::hasUncut)) cut(topics.values());
    return cuts;
  }

  /**
   * The cut to which readers of these topics step from {@code cut}, or null when {@code last}
   * brings them nothing.
   */
  synchronized Integer cutAfter(int cut, int last, Collection<String> read) {
    Integer next = emptyCuts.higher(cut);
    for (String name : read) {
      Integer moved = topic(name).cutAfter(cut);
      if (moved != null && (next == null || moved < next)) next = moved;
    }
    return next == null || next > last ? null : next;
  }

  synchronized LogOffset offsetAt(String topic, int cut) {
    return new LogOffset(cut, topic(topic).endAt(cut));
  }

  synchronized List<LogRecord> slice(String topic, int partition, long from, long to) {
    return topic(topic).slice(partition, from, to);
  }

  /** The shared steps of the sources of one query, identified by its checkpoint. */
  synchronized Lockstep steps(String checkpoint) {
    return queries.computeIfAbsent(checkpoint, name -> new Lockstep(this));
  }

  synchronized void forget(Lockstep steps) {
    queries.values().remove(steps);
  }

  /** Remembers the cut up to which the query's present batch reads. */
  synchronized void reach(String query, int cut) {
    if (query != null) reached.put(query, cut);
  }

  /**
   * Appends what an epoch wrote, once. Rows without a timestamp get the log's clock: the largest
   * seen, so that runs repeat.
   */
  synchronized void commit(String query, long epoch, List<Staged> tasks) {
    if (committed.getOrDefault(query, -1L) >= epoch) return;
    List<Staged.Row> rows = tasks.stream().flatMap(task -> task.rows().stream()).toList();
    // All or nothing: a row that fits nowhere must be found before the first is appended.
    for (Staged.Row row : rows) row.partition(topic(row.topic()).partitionCount());
    int cut = reached.getOrDefault(query, -1);
    Set<Topic> written = new HashSet<>();
    for (Staged.Row row : rows) {
      Topic to = topic(row.topic());
      long micros = row.micros() == null ? clock : row.micros();
      to.append(
          row.partition(to.partitionCount()), micros, row.key(), row.value(), null, epoch, cut);
      written.add(to);
    }
    committed.put(query, epoch);
    // No cut without rows: a query that reads what it writes, or a ring of queries, must come to
    // rest.
    if (!written.isEmpty()) cut(written);
  }

  private boolean cut(Collection<Topic> ended) {
    cuts++;
    boolean moved = false;
    for (Topic topic : ended) moved |= topic.cut(cuts);
    return moved;
  }

  private Topic topic(String name) {
    return topics.computeIfAbsent(name, absent -> new Topic(1));
  }
}
