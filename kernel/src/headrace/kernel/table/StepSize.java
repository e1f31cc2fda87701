package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What of a batch an operator takes as one change of its table.
 *
 * <p>{@code BATCH}: all of it, for those who look at the end of a batch only. {@code RECORD}: what
 * came of one record of the log, and {@code MOMENT}: what happened at one time; for those to whom
 * every version counts, and it must not matter how the input was cut into batches. The number of a
 * step is the {@code sequence} of its changes: the place of the record, or the time. So what comes
 * of one record or moment by several ways is together again where the ways meet.
 */
enum StepSize {
  BATCH,
  RECORD,
  MOMENT;

  /** The changes of a step, by side. Of a RECORD, {@code version} says when it happened. */
  record Step(StepSize kind, long number, List<Change> left, List<Change> right) {
    /** What is emitted as the version of a change. */
    long version(long own) {
      if (kind != RECORD) return own;
      long time = Long.MIN_VALUE;
      for (Change change : left) time = Math.max(time, change.version());
      for (Change change : right) time = Math.max(time, change.version());
      return time;
    }
  }

  List<Step> of(Operator.Input input) {
    List<Change> left = ordered(input.left());
    List<Change> right = ordered(input.right());
    if (this == BATCH) return List.of(new Step(this, 0, left, right));
    List<Step> steps = new ArrayList<>();
    int i = 0;
    int j = 0;
    while (i < left.size() || j < right.size()) {
      long number = Math.min(number(left, i), number(right, j));
      int l = end(left, i, number);
      int r = end(right, j, number);
      steps.add(new Step(this, number, left.subList(i, l), right.subList(j, r)));
      i = l;
      j = r;
    }
    return steps;
  }

  private static long number(List<Change> changes, int at) {
    return at < changes.size() ? changes.get(at).sequence() : Long.MAX_VALUE;
  }

  private static int end(List<Change> changes, int from, long number) {
    int end = from;
    while (end < changes.size() && changes.get(end).sequence() == number) end++;
    return end;
  }

  /** The changes in the order in which they happened. */
  static List<Change> ordered(List<byte[]> blocks) {
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : blocks) {
      Block block = new Block(bytes);
      while (block.next()) changes.add(block.change());
    }
    if (changes.size() > 1) changes.sort(Comparator.comparingLong(Change::sequence));
    return changes;
  }
}
