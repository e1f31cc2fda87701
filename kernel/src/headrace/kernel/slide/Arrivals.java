package headrace.kernel.slide;

import headrace.kernel.block.Block;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/** The events of a batch, in the order of their times. Their rows stay in the batch's blocks. */
final class Arrivals {
  private List<byte[]> blocks = List.of();
  private long[] times = new long[256];

  /** Which block, and where in it the row begins, after its length. */
  private long[] places = new long[256];

  private long[] spareTimes = new long[0];
  private long[] sparePlaces = new long[0];
  private int size;

  /**
   * Reads the events after a time and after the watermark of their arrival; returns how many are
   * not.
   */
  int read(List<byte[]> from, long after) {
    blocks = from;
    size = 0;
    int late = 0;
    boolean sorted = true;
    for (int number = 0; number < blocks.size(); number++) {
      Block block = new Block(blocks.get(number));
      while (block.next()) {
        long time = block.time();
        if (time <= after || time <= block.version()) {
          late++;
          continue;
        }
        if (size == times.length) grow();
        sorted &= size == 0 || times[size - 1] <= time;
        times[size] = time;
        places[size++] = (long) number << 32 | block.afterAt();
      }
    }
    if (!sorted) sort();
    return late;
  }

  private void grow() {
    times = Arrays.copyOf(times, size * 2);
    places = Arrays.copyOf(places, size * 2);
  }

  int size() {
    return size;
  }

  long time(int event) {
    return times[event];
  }

  long newest() {
    return times[size - 1];
  }

  /** The first event from this one on that is not before a time. */
  int notBefore(long time, int event) {
    while (event < size && times[event] < time) event++;
    return event;
  }

  void copy(int event, ChunkBuilder to) {
    byte[] block = blocks.get((int) (places[event] >>> 32));
    int at = (int) places[event];
    to.add(times[event], block, at, Platform.getInt(block, Platform.BYTE_ARRAY_OFFSET + at - 4));
  }

  /** Releases the batch's blocks. */
  void clear() {
    blocks = List.of();
    size = 0;
  }

  private void sort() {
    if (spareTimes.length < size) {
      spareTimes = new long[times.length];
      sparePlaces = new long[times.length];
    }
    sort(0, size);
  }

  /** Merge sort that skips halves in order: blocks arrive sorted, or nearly. */
  private void sort(int from, int to) {
    if (to - from < 2) return;
    int middle = (from + to) >>> 1;
    sort(from, middle);
    sort(middle, to);
    if (times[middle - 1] <= times[middle]) return;
    System.arraycopy(times, from, spareTimes, from, middle - from);
    System.arraycopy(places, from, sparePlaces, from, middle - from);
    int left = from;
    int right = middle;
    for (int at = from; left < middle; at++) {
      boolean fromLeft = right == to || spareTimes[left] <= times[right];
      times[at] = fromLeft ? spareTimes[left] : times[right];
      places[at] = fromLeft ? sparePlaces[left++] : places[right++];
    }
  }
}
