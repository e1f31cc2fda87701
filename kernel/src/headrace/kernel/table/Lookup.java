package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Joins events with the row of a table as it is when they arrive. Left: events, right: the table's
 * changes.
 *
 * <pre>
 * state: newest, the newest row of the key ({@link StoredRow})
 *
 * rows = [newest]
 * for each change of the batch, in the order of the log:
 *   if versioned and the last of rows has a later version: count it as stale
 *   else: append its row to rows, with its time of arrival, at least that of the one before
 * for each event:
 *   row = the last of rows that arrived no later than the event
 *   if there is a row, or outer: emit the event with it
 * newest = the last of rows; if it is a delete: keep its version if remember, else clear the state
 * </pre>
 */
final class Lookup extends Operator {
  private final boolean outer;
  private final boolean versioned;
  private final boolean remember;
  private transient ValueState<byte[]> newest;
  private transient BlockBuilder out;

  Lookup(boolean outer, boolean versioned, boolean remember) {
    this.outer = outer;
    this.versioned = versioned;
    this.remember = remember;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    newest = value("newest");
    out = new BlockBuilder(ENOUGH);
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    if (hasNull(key))
      return with(
          joined(input.left(), new long[0], new StoredRow[] {StoredRow.NONE}),
          NO_KEY,
          versioned ? count(input.right()) : 0);
    StoredRow before = StoredRow.read(newest.get());
    if (input.right().isEmpty()) return joined(input.left(), new long[0], new StoredRow[] {before});
    List<Change> changes = StepSize.ordered(input.right());
    long[] from = new long[changes.size()];
    StoredRow[] rows = new StoredRow[changes.size() + 1];
    rows[0] = before;
    int known = 0;
    for (Change change : changes) {
      if (versioned && rows[known].refuses(change)) continue;
      // A later offset arrived later, whatever its timestamp.
      from[known] = known == 0 ? change.time() : Math.max(from[known - 1], change.time());
      rows[known + 1] = rows[known].with(change);
      known++;
    }
    Newest.keep(newest, before, rows[known], remember);
    return with(
        joined(input.left(), Arrays.copyOf(from, known), rows), STALE, changes.size() - known);
  }

  /** From time i on, row i + 1 is valid. */
  private Iterator<byte[]> joined(List<byte[]> events, long[] from, StoredRow[] rows) {
    Iterator<byte[]> blocks = events.iterator();
    return new Iterator<>() {
      private Block block = new Block(new byte[0]);
      private int at = 0;
      private byte[] next = advance();

      /** Blocks of limited size: a small one is still in the processor's cache when it is read. */
      private byte[] advance() {
        out.clear();
        while (out.size() < ENOUGH) {
          if (!block.next()) {
            if (!blocks.hasNext()) break;
            block = new Block(blocks.next());
            continue;
          }
          at = upTo(from, block.time(), at);
          StoredRow row = rows[at];
          if (row.present() || outer) {
            block.copyAfterAsBefore(
                out,
                OUT,
                block.time(),
                row.present() ? row.version() : Block.NO_VERSION,
                row.row());
          }
        }
        return out.isEmpty() ? null : out.build();
      }

      @Override
      public boolean hasNext() {
        return next != null;
      }

      @Override
      public byte[] next() {
        if (next == null) throw new NoSuchElementException();
        byte[] block = next;
        next = advance();
        return block;
      }
    };
  }

  /**
   * How many of the sorted times are not after this one: mostly as many as for the previous event,
   * or one more.
   */
  private static int upTo(long[] times, long time, int last) {
    int low = 0;
    int high = times.length;
    if (last == 0 || times[last - 1] <= time) {
      low = last;
      if (last == times.length || times[last] > time) return last;
      if (last + 1 == times.length || times[last + 1] > time) return last + 1;
    }
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
