package headrace.kernel.window;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.block.Pair;
import headrace.kernel.table.Operator;
import headrace.kernel.window.frame.Span;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Emits a key's windows, each as a change from the row that was emitted before, if any. */
final class Emitter {
  private final byte[] key;
  private final List<byte[]> blocks = new ArrayList<>();
  private BlockBuilder block = new BlockBuilder(256);

  Emitter(byte[] key) {
    this.key = key;
  }

  void emit(Window window, long time, boolean last) {
    add(window, time, Pair.of(key, window.row(last)));
    window.emit(time);
  }

  /** Emits a part of a window as final. */
  void emit(Window window, Span part) {
    put(
        new Change(
            Operator.OUT,
            part.end() - 1,
            0,
            part.end() - 1,
            0,
            null,
            Pair.of(key, window.row(part))));
  }

  /** Retracts a window that was emitted. */
  void delete(Window window, long time) {
    add(window, time, null);
  }

  private void add(Window window, long time, byte[] after) {
    boolean emitted = window.wasEmitted();
    byte[] before = emitted ? Pair.of(key, window.emitted()) : null;
    put(new Change(Operator.OUT, time, emitted ? window.emittedAt() : 0, time, 0, before, after));
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
