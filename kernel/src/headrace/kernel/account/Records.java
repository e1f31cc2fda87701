package headrace.kernel.account;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;
import org.roaringbitmap.RoaringBitmap;

/** A set of records, collected by tasks: a record counts once, even if work is repeated. */
final class Records extends AccumulatorV2<Records.Stretch, Long> {
  /** A range of a partition's offsets. */
  record Stretch(String partition, long from, long until) {}

  /**
   * The offsets of a partition that differ in their low 32 bits alone. The library's 64-bit bitmap
   * is not used, because it adds a range in 240 microseconds instead of 50 nanoseconds.
   */
  private record Block(String partition, long high) implements Serializable {}

  private final HashMap<Block, RoaringBitmap> offsets = new HashMap<>();

  @Override
  public synchronized void add(Stretch stretch) {
    for (long from = stretch.from; from < stretch.until; ) {
      long high = from >>> 32;
      long begin = high << 32;
      long until = Math.min(stretch.until, begin + (1L << 32));
      of(new Block(stretch.partition, high)).add(from - begin, until - begin);
      from = until;
    }
  }

  private RoaringBitmap of(Block block) {
    return offsets.computeIfAbsent(block, none -> new RoaringBitmap());
  }

  @Override
  public void merge(AccumulatorV2<Stretch, Long> other) {
    Records copy = (Records) other.copy();
    synchronized (this) {
      copy.offsets.forEach((block, theirs) -> of(block).or(theirs));
    }
  }

  /** The intersection. */
  Records in(Records others) {
    Records both = (Records) copy();
    Records theirs = (Records) others.copy();
    both.offsets.forEach((block, mine) -> mine.and(theirs.of(block)));
    return both;
  }

  /** The difference. */
  Records without(Records others) {
    Records rest = (Records) copy();
    Records theirs = (Records) others.copy();
    rest.offsets.forEach((block, mine) -> mine.andNot(theirs.of(block)));
    return rest;
  }

  /** Only their number: Spark shows and logs the value of an accumulator. */
  @Override
  public synchronized Long value() {
    return offsets.values().stream().mapToLong(RoaringBitmap::getLongCardinality).sum();
  }

  @Override
  public synchronized boolean isZero() {
    return offsets.isEmpty();
  }

  @Override
  public synchronized void reset() {
    offsets.clear();
  }

  @Override
  public synchronized AccumulatorV2<Stretch, Long> copy() {
    Records copy = new Records();
    for (Map.Entry<Block, RoaringBitmap> each : offsets.entrySet())
      copy.of(each.getKey()).or(each.getValue());
    return copy;
  }

  private synchronized void writeObject(ObjectOutputStream out) throws IOException {
    // A heartbeat sends it while the task adds to it.
    out.defaultWriteObject();
  }
}
