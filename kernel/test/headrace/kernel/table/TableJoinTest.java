package headrace.kernel.table;

import static headrace.kernel.table.TableJoin.Side.CHANGES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.Change;
import headrace.kernel.block.Struct;
import headrace.kernel.table.TableJoin.By;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class TableJoinTest {
  private static final DataType[] KEY = {DataTypes.StringType};
  private static final DataType[] ROW = {
    DataTypes.StringType, DataTypes.StringType, DataTypes.IntegerType
  };

  /**
   * A row of either table: its own key, the column on which it is joined with others, and something
   * else.
   */
  private record Item(String id, String on, int x) {
    byte[] packed() {
      Rows row = Rows.of(ROW, id, on, x);
      return Rows.of(Rows.of(KEY, id), row).bytes();
    }

    static Item read(InternalRow row) {
      return row == null
          ? null
          : new Item(row.getString(0), row.isNullAt(1) ? null : row.getString(1), row.getInt(2));
    }

    @Override
    public String toString() {
      return id + "/" + on + "/" + x;
    }
  }

  /** A change of a table's row. */
  private record Update(Item before, long beforeTime, Item after, long time) {}

  /** Two tables, their join by the operators, and by definition. */
  private static final class Tables {
    final By by;
    final boolean left;
    final boolean right;
    final Driven join;
    final Driven settle = Driven.of(new Settle(StepSize.BATCH));
    final Emitted emitted = new Emitted();
    final List<Map<String, Item>> rows = List.of(new TreeMap<>(), new TreeMap<>());
    final List<Map<String, Long>> times = List.of(new TreeMap<>(), new TreeMap<>());
    private final Map<ByteBuffer, List<Change>> batch = new LinkedHashMap<>();
    private long now = 100;

    Tables(By by, boolean left, boolean right) {
      this.by = by;
      this.left = left;
      this.right = right;
      this.join = Driven.of(new TableJoin(left, right, by, CHANGES, CHANGES, StepSize.BATCH));
    }

    /**
     * What the tables are joined on: for {@code KEY} their keys, for {@code LEFT} a column and the
     * right's key.
     */
    private String on(int side, Item item) {
      return by == By.KEY || (by == By.LEFT && side == 1) ? item.id : item.on;
    }

    /** The newest row of a key; without {@code item}, none. */
    void put(int side, String id, Item item) {
      Item before = rows.get(side).get(id);
      if (Objects.equals(before, item)) return;
      Update update = new Update(before, times.get(side).getOrDefault(id, 0L), item, now++);
      if (item == null) {
        rows.get(side).remove(id);
      } else {
        rows.get(side).put(id, item);
        times.get(side).put(id, update.time);
      }
      // As Gather does it: one change where the key stays, else a delete there and an insert here.
      if (before != null && item != null && Objects.equals(on(side, before), on(side, item))) {
        add(on(side, item), side, update, before, item);
      } else {
        if (before != null) add(on(side, before), side, update, before, null);
        if (item != null) add(on(side, item), side, update, null, item);
      }
    }

    void put(int side, Item item) {
      put(side, item.id, item);
    }

    private void add(String key, int side, Update update, Item before, Item after) {
      byte[] packed = before == null ? null : before.packed();
      Change change =
          new Change(
              (byte) side,
              update.time,
              update.beforeTime,
              update.time,
              update.time,
              packed,
              after == null ? null : after.packed());
      batch
          .computeIfAbsent(ByteBuffer.wrap(Rows.of(KEY, key).bytes()), none -> new ArrayList<>())
          .add(change);
    }

    /** Runs what was put since the last time as one batch, in any order of keys and blocks. */
    List<String> run(Random chance) {
      List<ByteBuffer> keys = new ArrayList<>(batch.keySet());
      Collections.shuffle(keys, chance);
      List<Change> joined = new ArrayList<>();
      for (ByteBuffer key : keys) {
        List<Change> changes = batch.get(key);
        Collections.shuffle(changes, chance);
        joined.addAll(join.feed(key.array(), changes, chance));
      }
      batch.clear();
      List<Change> out = by == By.KEY ? joined : settled(joined, chance);
      List<String> texts = new ArrayList<>();
      for (Change change : out) {
        emitted.take(key(change), change);
        texts.add(text(change.before()) + " > " + text(change.after()));
      }
      assertEquals(expected(), emitted.rows(TableJoinTest::text));
      return texts;
    }

    List<String> run() {
      return run(new Random(1));
    }

    private List<Change> settled(List<Change> joined, Random chance) {
      Map<String, List<Change>> changes = new TreeMap<>();
      for (Change change : joined)
        changes.computeIfAbsent(key(change), none -> new ArrayList<>()).add(change);
      List<Change> out = new ArrayList<>();
      changes.forEach(
          (key, some) -> {
            List<Change> settled = settle.feed(Driven.key(key), some, chance);
            assertTrue(settled.size() < 2, "one change of a row in a batch");
            out.addAll(settled);
          });
      return out;
    }

    /** What a row of the result is known by. */
    private String key(Change change) {
      String before = change.before() == null ? null : key(change.before());
      String after = change.after() == null ? null : key(change.after());
      if (before != null && after != null) assertEquals(before, after, "the key of a row");
      return before == null ? after : before;
    }

    private String key(byte[] bytes) {
      InternalRow pair = new Struct(3, 3).at(bytes);
      Item one = Item.read(pair.getStruct(0, 3));
      Item other = Item.read(pair.getStruct(1, 3));
      return key(one, other);
    }

    private String key(Item one, Item other) {
      return switch (by) {
        case KEY -> one == null ? other.id : one.id;
        case LEFT -> one.id;
        case BOTH -> (one == null ? null : one.id) + "+" + (other == null ? null : other.id);
      };
    }

    Map<String, String> expected() {
      Map<String, String> expected = new TreeMap<>();
      for (Item one : rows.get(0).values()) {
        boolean alone = true;
        for (Item other : rows.get(1).values()) {
          if (on(0, one) == null || !on(0, one).equals(on(1, other))) continue;
          expected.put(key(one, other), one + " " + other);
          alone = false;
        }
        if (alone && left) expected.put(key(one, null), one + " null");
      }
      for (Item other : rows.get(1).values()) {
        String on = on(1, other);
        boolean alone =
            on == null || rows.get(0).values().stream().noneMatch(one -> on.equals(on(0, one)));
        if (alone && right) expected.put(key(null, other), "null " + other);
      }
      return expected;
    }
  }

  private static String text(byte[] bytes) {
    if (bytes == null) return "-";
    InternalRow pair = new Struct(3, 3).at(bytes);
    return Item.read(pair.getStruct(0, 3)) + " " + Item.read(pair.getStruct(1, 3));
  }

  private static void random(By by, boolean left, boolean right) {
    Chance.times(
        60,
        chance -> {
          Tables tables = new Tables(by, left, right);
          for (int batch = 0; batch < 10; batch++) {
            for (int puts = chance.nextInt(8); puts > 0; puts--) {
              int side = chance.nextInt(2);
              String id = Chance.one(chance, "1", "2", "3");
              String on = Chance.one(chance, "1", "2", "4", null);
              tables.put(
                  side, id, chance.nextInt(4) == 0 ? null : new Item(id, on, chance.nextInt(2)));
            }
            tables.run(chance);
          }
          for (int side = 0; side < 2; side++)
            for (String id : List.of("1", "2", "3")) tables.put(side, id, null);
          tables.run(chance);
          for (String key : java.util.Arrays.asList("1", "2", "3", "4", null)) {
            for (String state : List.of("lefts", "rights")) {
              assertTrue(
                  tables.join.map(state, Rows.of(KEY, key).bytes()).isEmpty(),
                  "nothing is left of " + key);
            }
          }
        });
  }

  @Test
  void byKeyInner() {
    random(By.KEY, false, false);
  }

  @Test
  void byKeyLeft() {
    random(By.KEY, true, false);
  }

  @Test
  void byKeyFull() {
    random(By.KEY, true, true);
  }

  @Test
  void byTheLeftsKeyInner() {
    random(By.LEFT, false, false);
  }

  @Test
  void byTheLeftsKeyLeft() {
    random(By.LEFT, true, false);
  }

  @Test
  void byBothKeysInner() {
    random(By.BOTH, false, false);
  }

  @Test
  void byBothKeysLeft() {
    random(By.BOTH, true, false);
  }

  @Test
  void byBothKeysFull() {
    random(By.BOTH, true, true);
  }

  @Test
  void aRowThatMovesToAnotherKeyIsOneUpdate() {
    Tables tables = new Tables(By.LEFT, false, false);
    tables.put(1, new Item("1", null, 10));
    tables.put(1, new Item("2", null, 20));
    tables.put(0, new Item("a", "1", 0));
    tables.run();
    tables.put(0, new Item("a", "2", 0));
    assertEquals(List.of("a/1/0 1/null/10 > a/2/0 2/null/20"), tables.run());
    tables.put(0, new Item("a", "3", 0));
    assertEquals(List.of("a/2/0 2/null/20 > -"), tables.run());
    tables.put(0, new Item("a", null, 0));
    assertEquals(List.of(), tables.run());
    tables.put(0, new Item("a", "1", 0));
    assertEquals(List.of("- > a/1/0 1/null/10"), tables.run());
  }

  @Test
  void aRowThatMovesAwayAndBackInABatchIsNoChange() {
    Tables tables = new Tables(By.LEFT, true, false);
    tables.put(1, new Item("1", null, 10));
    tables.put(0, new Item("a", "1", 0));
    tables.run();
    tables.put(0, new Item("a", "2", 0));
    tables.put(0, new Item("a", null, 0));
    tables.put(0, new Item("a", "1", 0));
    assertEquals(List.of(), tables.run());
  }

  @Test
  void whenThePartnerComesOrGoesTheRowChanges() {
    Tables tables = new Tables(By.LEFT, true, false);
    tables.put(0, new Item("a", "1", 0));
    assertEquals(List.of("- > a/1/0 null"), tables.run());
    tables.put(1, new Item("1", null, 10));
    assertEquals(List.of("a/1/0 null > a/1/0 1/null/10"), tables.run());
    tables.put(1, "1", null);
    assertEquals(List.of("a/1/0 1/null/10 > a/1/0 null"), tables.run());
  }

  @Test
  void nullMatchesNothingNotEvenNull() {
    for (By by : List.of(By.LEFT, By.BOTH)) {
      Tables tables = new Tables(by, true, by == By.BOTH);
      tables.put(0, new Item("a", null, 0));
      tables.put(1, new Item("1", null, 10));
      tables.run();
      tables.put(0, new Item("a", null, 1));
      tables.put(1, new Item("1", null, 11));
      tables.run();
      tables.put(0, new Item("b", null, 1));
      tables.put(1, "1", null);
      tables.run();
    }
  }

  @Test
  void norByKey() {
    byte[] one = new Item("a", "1", 0).packed();
    Change left = new Change((byte) 0, 1, 0, 1, 1, null, one);
    Change right = new Change((byte) 1, 2, 0, 2, 2, null, one);
    byte[] key = Rows.of(KEY, (Object) null).bytes();
    assertEquals(
        List.of(),
        Driven.of(new TableJoin(false, false, By.KEY, CHANGES, CHANGES, StepSize.BATCH))
            .feed(key, left, right));
    Driven join = Driven.of(new TableJoin(true, false, By.KEY, CHANGES, CHANGES, StepSize.BATCH));
    assertEquals(
        List.of("a/1/0 null"),
        join.feed(key, left, right).stream().map(change -> text(change.after())).toList());
    assertEquals(List.of(), join.feed(key, new Change((byte) 1, 3, 2, 3, 3, one, null)));
    assertEquals(1, join.feed(key, new Change((byte) 0, 4, 1, 4, 4, one, null)).size());
  }

  @Test
  void oneOfSeveralColumnsThatIsNullMatchesNothing() {
    DataType[] two = {DataTypes.StringType, DataTypes.StringType};
    byte[] key = Rows.of(two, "1", null).bytes();
    Change one = new Change((byte) 0, 1, 0, 1, 1, null, new Item("a", "1", 0).packed());
    Change other = new Change((byte) 1, 2, 0, 2, 2, null, new Item("b", "1", 0).packed());
    assertEquals(
        List.of(),
        Driven.of(new TableJoin(false, false, By.BOTH, CHANGES, CHANGES, StepSize.BATCH))
            .feed(key, one, other));
    var out =
        Driven.of(new TableJoin(true, true, By.BOTH, CHANGES, CHANGES, StepSize.BATCH))
            .feed(key, one, other);
    assertEquals(
        List.of("a/1/0 null", "null b/1/0"),
        out.stream().map(change -> text(change.after())).sorted().toList());
  }

  @Test
  void aRowsTimeIsThatOfTheNewerOfTheTwo() {
    Driven join = Driven.of(new TableJoin(false, false, By.KEY, CHANGES, CHANGES, StepSize.BATCH));
    byte[] key = Rows.of(KEY, "1").bytes();
    join.feed(key, new Change((byte) 0, 50, 0, 5, 1, null, new Item("1", null, 0).packed()));
    Change inserted =
        join.feed(key, new Change((byte) 1, 20, 0, 7, 2, null, new Item("1", null, 1).packed()))
            .get(0);
    assertEquals(50, inserted.time());
    assertEquals(7, inserted.version());
    byte[] before = new Item("1", null, 1).packed();
    Change updated =
        join.feed(key, new Change((byte) 1, 60, 20, 8, 3, before, new Item("1", null, 2).packed()))
            .get(0);
    assertEquals(50, updated.beforeTime());
    assertEquals(60, updated.time());
    Change deleted =
        join.feed(key, new Change((byte) 0, 70, 50, 9, 4, new Item("1", null, 0).packed(), null))
            .get(0);
    assertEquals(60, deleted.beforeTime());
    assertEquals(70, deleted.time());
  }

  @Test
  void aRowIsTakenBackWithTheTimeItWasToldWith() {
    byte[] one = new Item("1", null, 1).packed();
    byte[] other = new Item("1", null, 2).packed();
    Driven join = Driven.of(new TableJoin(true, false, By.KEY, CHANGES, CHANGES, StepSize.BATCH));
    Emitted emitted = new Emitted();
    List<List<Change>> batches =
        List.of(
            List.of(
                new Change((byte) 0, 1, 0, 1, 1, null, one),
                new Change((byte) 1, 2, 0, 2, 2, null, other)),
            // The partner goes.
            List.of(new Change((byte) 1, 9, 2, 9, 9, other, null)),
            // The row goes, and comes back as it was.
            List.of(
                new Change((byte) 0, 10, 1, 10, 10, one, null),
                new Change((byte) 0, 11, 0, 11, 11, null, one)),
            List.of(new Change((byte) 0, 12, 11, 12, 12, one, null)));
    for (List<Change> batch : batches) {
      for (Change change : join.feed(Rows.of(KEY, "1").bytes(), batch, new Random(2)))
        emitted.take("1", change);
    }
    assertTrue(emitted.rows().isEmpty());
  }

  /** More than fits into a block: they come in several, and all of them. */
  @Test
  void manyPartnersComeInSeveralBlocks() {
    Tables tables = new Tables(By.BOTH, true, true);
    for (int i = 0; i < 600; i++) tables.put(0, new Item("l" + i, "1", i));
    tables.run();
    for (int i = 0; i < 5; i++) tables.put(1, new Item("r" + i, "1", i));
    tables.run();
    assertEquals(3000, tables.emitted.rows().size());
    tables.put(1, "r3", null);
    assertEquals(600, tables.run().size());
    for (int i = 0; i < 600; i++) tables.put(0, "l" + i, null);
    tables.run();
    assertEquals(4, tables.emitted.rows().size());
  }

  @Test
  void keysOfRowsThatDifferInAnyByteAreDifferent() {
    Tables tables = new Tables(By.BOTH, false, false);
    for (String id : List.of("a", "a\0", "\0a", "ä", "ÿ", "\u0080", "aaaaaaaa", "aaaaaaaaa", "")) {
      tables.put(0, new Item(id, "1", 0));
      tables.put(1, new Item(id, "1", 0));
    }
    tables.run();
    assertEquals(81, tables.emitted.rows().size());
  }
}
