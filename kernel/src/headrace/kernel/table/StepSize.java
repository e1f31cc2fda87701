package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which changes of a batch an operator treats as one change of its table.
 *
 * <p>{@code BATCH}: all of them, if only the row at the end of a batch matters. {@code RECORD}:
 * those that result from one record of the log, and {@code MOMENT}: those of one time; for readers
 * that need every version, whose results must not depend on how the input is split into batches.
 * The number of a step is the {@code sequence} of its changes: the place of the record, or the
 * time. So the results of one record or time on several paths are one step again where the paths
 * meet.
 */
enum StepSize {
  BATCH,
  RECORD,
  MOMENT;

  /** The changes of a step, by side. In a RECORD step, {@code version} is the record's time. */
  record Step(StepSize kind, long number, List<Change> left, List<Change> right) {
    /** The version of the change that is emitted. */
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

  /** The changes in the order of their sequence. */
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
