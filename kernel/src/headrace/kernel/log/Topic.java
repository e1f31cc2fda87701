package headrace.kernel.log;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/**
 * A topic: its partitions, its records in order of arrival, and its end at each cut that found it
 * longer. Guarded by its log.
 */
final class Topic {
  private final List<List<LogRecord>> partitions = new ArrayList<>();
  private final List<LogRecord> arrivals = new ArrayList<>();
  private final TreeMap<Integer, long[]> ends = new TreeMap<>();

  Topic(int count) {
    if (count < 1)
      throw new IllegalArgumentException("a topic needs at least 1 partition, got " + count);
    for (int i = 0; i < count; i++) partitions.add(new ArrayList<>());
    ends.put(0, new long[count]);
  }

  int partitionCount() {
    return partitions.size();
  }

  void append(
      int partition, long micros, byte[] key, byte[] value, Long advance, long epoch, int cut) {
    if (partition < 0 || partition >= partitions.size()) {
      throw new IllegalArgumentException(
          "no partition " + partition + ": the topic has " + partitions.size());
    }
    List<LogRecord> log = partitions.get(partition);
    LogRecord appended =
        new LogRecord(partition, log.size(), micros, key, value, advance, epoch, cut);
    log.add(appended);
    arrivals.add(appended);
  }

  List<LogRecord> slice(int partition, long from, long to) {
    return List.copyOf(partitions.get(partition).subList((int) from, (int) to));
  }

  List<LogRecord> arrivals(int from) {
    return List.copyOf(arrivals.subList(Math.min(from, arrivals.size()), arrivals.size()));
  }

  int size() {
    return arrivals.size();
  }

  /** Marks the end under this number; false, and no mark, when nothing came since the last one. */
  boolean cut(int number) {
    long[] last = ends.lastEntry().getValue();
    long[] now = partitions.stream().mapToLong(List::size).toArray();
    if (Arrays.equals(last, now)) return false;
    ends.put(number, now);
    return true;
  }

  boolean hasUncut() {
    long marked = 0;
    for (long end : ends.lastEntry().getValue()) marked += end;
    return marked < arrivals.size();
  }

  long[] endAt(int cut) {
    return ends.floorEntry(cut).getValue().clone();
  }

  /** The first cut after this one that brought records, or null. */
  Integer cutAfter(int cut) {
    return ends.higherKey(cut);
  }
}
