package headrace.kernel.window;

import headrace.kernel.table.BlockBuilder;
import headrace.kernel.table.Change;
import headrace.kernel.table.Operator;
import headrace.kernel.table.Pair;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Tells of a key's windows: a change for each, from the row that was told before, if any. */
final class Teller {
  private final byte[] key;
  private final List<byte[]> blocks = new ArrayList<>();
  private BlockBuilder block = new BlockBuilder(256);

  Teller(byte[] key) {
    this.key = key;
  }

  void tell(Window window, long time, boolean last) {
    add(window, time, Pair.of(key, window.row(last)));
    window.tell(time);
  }

  /** Tells the part of a window up to now, for good. */
  void tell(Window window, Span part) {
    put(new Change(Operator.OUT, part.end() - 1, 0, part.end() - 1, 0, null, Pair.of(key, window.row(part))));
  }

  /** That a window that was told is no more. */
  void delete(Window window, long time) {
    add(window, time, null);
  }

  private void add(Window window, long time, byte[] after) {
    boolean told = window.wasTold();
    byte[] before = told ? Pair.of(key, window.told()) : null;
    put(new Change(Operator.OUT, time, told ? window.toldAt() : 0, time, 0, before, after));
  }

  private void put(Change change) {
    block.add(change);
    if (block.size() < Operator.ENOUGH) return;
    blocks.add(block.build());
    block = new BlockBuilder(256);
  }

  Iterator<byte[]> blocks() {
    if (!block.isEmpty()) blocks.add(block.build());
    return blocks.iterator();
  }
}
