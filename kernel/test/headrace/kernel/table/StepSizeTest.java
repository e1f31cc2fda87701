package headrace.kernel.table;

import static headrace.kernel.table.TableJoin.Side.CHANGES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.Change;
import headrace.kernel.table.TableJoin.By;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/**
 * Operators that follow records or moments: what they emit does not depend on what is in one batch.
 */
class StepSizeTest {
  private static final DataType[] TEXT = {DataTypes.StringType};
  private static final long HOUR = 3_600_000_000L;

  /** A row of a key, from some time on. */
  private record Row(String key, byte[] bytes, long time) {}

  /**
   * Changes of the rows of both sides, several of them in some steps; times in microseconds, not
   * always in order.
   */
  private static List<Change> changes(
      Random chance, boolean two, java.util.function.BiFunction<String, String, byte[]> row) {
    List<Map<String, Row>> sides = List.of(new TreeMap<>(), new TreeMap<>());
    List<Change> changes = new ArrayList<>();
    for (long step = 1; step <= 12; step++) {
      for (int many = 1 + chance.nextInt(3); many > 0; many--) {
        int side = two ? chance.nextInt(2) : 0;
        String key = Chance.one(chance, "a", "b", "c");
        long time = HOUR + step + chance.nextInt(3) - 1;
        Row before = sides.get(side).get(key);
        byte[] after =
            chance.nextInt(4) == 0 ? null : row.apply(key, Chance.one(chance, "x", "y", "z"));
        if (before == null && after == null) continue;
        changes.add(
            new Change(
                (byte) side,
                time,
                before == null ? 0 : before.time,
                time,
                step * 7,
                before == null ? null : before.bytes,
                after));
        if (after == null) sides.get(side).remove(key);
        else sides.get(side).put(key, new Row(key, after, time));
      }
    }
    return changes;
  }

  /**
   * What is emitted of the changes in these batches, which end where steps do: by step, in any
   * order within one.
   */
  private static Map<Long, List<String>> emitted(
      Operator operator, List<Change> changes, Random chance, int every) {
    Driven driven = Driven.of(operator);
    List<Change> out = new ArrayList<>();
    for (int from = 0; from < changes.size(); ) {
      int to = from + 1;
      while (to < changes.size() && (same(changes, to) || chance.nextInt(every) > 0)) to++;
      // A block is of one task, where the order is kept; tasks come in any order.
      out.addAll(driven.feed(Driven.key("k"), changes.subList(from, to).toArray(Change[]::new)));
      from = to;
    }
    Map<Long, List<String>> steps = new TreeMap<>();
    for (Change change : out)
      steps.computeIfAbsent(change.sequence(), none -> new ArrayList<>()).add(text(change));
    steps.values().forEach(texts -> texts.sort(null));
    return steps;
  }

  private static boolean same(List<Change> changes, int at) {
    return changes.get(at).sequence() == changes.get(at - 1).sequence();
  }

  private static String text(Change change) {
    String before =
        change.before() == null
            ? "-"
            : Arrays.toString(change.before()) + "@" + change.beforeTime();
    return before
        + " > "
        + Arrays.toString(change.after())
        + "@"
        + change.time()
        + " v"
        + change.version();
  }

  private static void random(
      boolean two,
      java.util.function.BiFunction<String, String, byte[]> row,
      Supplier<Operator> operator) {
    Chance.times(
        100,
        chance -> {
          List<Change> changes = changes(chance, two, row);
          Map<Long, List<String>> one = emitted(operator.get(), changes, chance, 1);
          assertTrue(one.size() > 1);
          assertEquals(one, emitted(operator.get(), changes, chance, 3), "in a few batches");
          assertEquals(
              one, emitted(operator.get(), changes, chance, Integer.MAX_VALUE), "in one batch");
        });
  }

  private static byte[] item(String key, String value) {
    return Rows.of(Rows.of(TEXT, key), Rows.of(TEXT, value)).bytes();
  }

  @Test
  void aJoinEmitsEveryStepAlike() {
    for (StepSize steps : List.of(StepSize.RECORD, StepSize.MOMENT)) {
      for (boolean outer : new boolean[] {false, true}) {
        random(
            true,
            StepSizeTest::item,
            () -> new TableJoin(outer, outer, By.BOTH, CHANGES, CHANGES, steps));
        random(
            true,
            (key, value) -> item("a", value),
            () -> new TableJoin(outer, outer, By.KEY, CHANGES, CHANGES, steps));
      }
    }
  }

  @Test
  void anAggregateEmitsEveryStepAlike() {
    for (StepSize steps : List.of(StepSize.RECORD, StepSize.MOMENT)) {
      for (boolean whole : new boolean[] {false, true}) {
        Random values = new Random(7);
        Map<String, byte[]> rows = new TreeMap<>();
        random(
            false,
            (key, value) -> rows.computeIfAbsent(value, none -> Functions.few(values).bytes()),
            () -> new TableAggregate(Functions.all(), whole, steps));
      }
    }
  }

  @Test
  void rowsThatComeFromSeveralPlacesSettleStepByStep() {
    // One row of one key; a change of it is a delete in one place and an insert in another.
    Chance.times(
        200,
        chance -> {
          List<Change> changes = new ArrayList<>();
          String row = null;
          for (long step = 1; step <= 12; step++) {
            String next = chance.nextInt(4) == 0 ? null : Chance.one(chance, "a", "b", "c");
            if (Change.same(Driven.bytes(row), Driven.bytes(next))) continue;
            Change gone =
                row == null
                    ? null
                    : new Change((byte) 0, step, 0, step, step, Driven.bytes(row), null);
            Change come =
                next == null
                    ? null
                    : new Change((byte) 0, step, 0, step, step, null, Driven.bytes(next));
            boolean turned = chance.nextBoolean();
            for (Change change : turned ? Arrays.asList(come, gone) : Arrays.asList(gone, come))
              if (change != null) changes.add(change);
            row = next;
          }
          Map<Long, List<String>> one = emitted(new Settle(StepSize.RECORD), changes, chance, 1);
          one.values().forEach(texts -> assertEquals(1, texts.size()));
          assertEquals(one, emitted(new Settle(StepSize.RECORD), changes, chance, 3));
          assertEquals(
              one, emitted(new Settle(StepSize.RECORD), changes, chance, Integer.MAX_VALUE));
        });
  }

  @Test
  void theVersionOfAChangeIsTheTimeOfItsRecord() {
    Driven join = Driven.of(new TableJoin(true, false, By.KEY, CHANGES, CHANGES, StepSize.RECORD));
    join.feed(
        "k",
        new Change((byte) 0, 10, 0, 10, 1, null, item("k", "l")),
        new Change((byte) 1, 20, 0, 20, 2, null, item("k", "r")));
    // The row that is left is as old as it was; it is left since the other went.
    Change change =
        join.feed("k", new Change((byte) 1, 30, 20, 30, 3, item("k", "r"), null)).get(0);
    assertEquals(
        List.of(10L, 30L, 3L), List.of(change.time(), change.version(), change.sequence()));
  }
}
