package headrace.kernel.account;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/** A set of records, collected by tasks: a record counts once, even if work is repeated. */
final class Records extends AccumulatorV2<Records.Stretch, Long> {
  /** A range of a partition's offsets. */
  record Stretch(String partition, long from, long until) {}

  private final HashMap<String, Roaring64Bitmap> offsets = new HashMap<>();

  @Override
  public synchronized void add(Stretch stretch) {
    Roaring64Bitmap known = of(stretch.partition);
    if (stretch.until == stretch.from + 1) known.addLong(stretch.from);
    else known.addRange(stretch.from, stretch.until);
  }

  private Roaring64Bitmap of(String place) {
    return offsets.computeIfAbsent(place, none -> new Roaring64Bitmap());
  }

  @Override
  public void merge(AccumulatorV2<Stretch, Long> other) {
    Records copy = (Records) other.copy();
    synchronized (this) {
      copy.offsets.forEach((place, theirs) -> of(place).or(theirs));
    }
  }

  /** The intersection. */
  Records in(Records others) {
    Records both = (Records) copy();
    Records theirs = (Records) others.copy();
    both.offsets.forEach((place, mine) -> mine.and(theirs.of(place)));
    return both;
  }

  /** The difference. */
  Records without(Records others) {
    Records rest = (Records) copy();
    Records theirs = (Records) others.copy();
    rest.offsets.forEach((place, mine) -> mine.andNot(theirs.of(place)));
    return rest;
  }

  /** Only their number: Spark shows and logs the value of an accumulator. */
  @Override
  public synchronized Long value() {
    return offsets.values().stream().mapToLong(Roaring64Bitmap::getLongCardinality).sum();
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
    for (Map.Entry<String, Roaring64Bitmap> each : offsets.entrySet())
      copy.of(each.getKey()).or(each.getValue());
    return copy;
  }

  private synchronized void writeObject(ObjectOutputStream out) throws IOException {
    // A heartbeat sends it while the task adds to it.
    out.defaultWriteObject();
  }
}
