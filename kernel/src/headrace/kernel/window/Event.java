package headrace.kernel.window;

import headrace.kernel.block.Block;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * An event: its time, its place in the log, the watermark that closed windows when it arrived, and
 * its row of arguments.
 */
record Event(long time, long sequence, long closed, byte[] row) {
  static final Comparator<Event> ORDER =
      Comparator.comparingLong(Event::time).thenComparingLong(Event::sequence);

  /** The events of blocks in the order of their time. */
  static List<Event> of(List<byte[]> blocks) {
    List<Event> events = new ArrayList<>();
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next())
        events.add(new Event(block.time(), block.sequence(), block.version(), block.after()));
    }
    events.sort(ORDER);
    return events;
  }
}
