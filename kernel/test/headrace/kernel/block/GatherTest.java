package headrace.kernel.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import headrace.kernel.table.Driven;
import headrace.kernel.table.Operator;
import headrace.kernel.table.Rows;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Gather, and Scatter, which takes apart again what it put together. */
class GatherTest {
  private static final StructType KEY = new StructType().add("k", DataTypes.StringType);
  private static final StructType ROW =
      new StructType().add("x", DataTypes.StringType).add("n", DataTypes.LongType);
  private static final DataType LONG = DataTypes.LongType;
  private static final DataType[] COLUMNS = {
    KEY, KEY, DataTypes.IntegerType, LONG, LONG, LONG, LONG, ROW, ROW
  };

  private static Seq<Expression> references(DataType... types) {
    List<Expression> references = new ArrayList<>();
    for (int i = 0; i < types.length; i++) references.add(new BoundReference(i, types[i], true));
    return CollectionConverters.asScala(references).toSeq();
  }

  private static Iterator<InternalRow> gather(boolean atOnce, InternalRow... rows) {
    return new Gather(atOnce, references(COLUMNS)).rows(input(rows));
  }

  private static Iterator<InternalRow> input(InternalRow... rows) {
    return CollectionConverters.asScala(List.of(rows).iterator());
  }

  private static Object key(String key) {
    return key == null ? null : Rows.of(key);
  }

  private static Object row(String row) {
    return row == null ? null : Rows.of(new DataType[] {DataTypes.StringType, LONG}, row, 1L);
  }

  private static InternalRow change(
      String keyBefore, String before, String keyAfter, String after, long sequence) {
    return Rows.of(
            COLUMNS,
            key(keyBefore),
            key(keyAfter),
            1,
            20L,
            10L,
            30L,
            sequence,
            row(before),
            row(after))
        .row();
  }

  /** By key: the changes of its block, {@code before > after}. */
  private static Map<String, List<String>> blocks(Iterator<InternalRow> rows) {
    Map<String, List<String>> blocks = new TreeMap<>();
    CollectionConverters.asJava(rows)
        .forEachRemaining(
            row -> {
              List<String> changes = new ArrayList<>();
              for (Change change : Driven.changes(List.of(row.getBinary(1)))) {
                assertEquals(1, change.side());
                assertEquals(20, change.time());
                assertEquals(10, change.beforeTime());
                assertEquals(30, change.version());
                changes.add(
                    text(change.before()) + " > " + text(change.after()) + " " + change.sequence());
              }
              blocks.put(
                  (String) Rows.values(Key.row(row.getBinary(0)), DataTypes.StringType).get(0),
                  changes);
            });
    return blocks;
  }

  private static String text(byte[] row) {
    return row == null ? "-" : (String) Rows.values(row, DataTypes.StringType, LONG).get(0);
  }

  @Test
  void changesOfOneKeyTravelTogether() {
    Iterator<InternalRow> blocks =
        gather(
            false,
            change(null, null, "k", "a", 1),
            change(null, null, "l", "b", 2),
            change("k", "a", "k", "c", 3),
            change("k", "c", null, null, 4));
    assertEquals(
        Map.of("k", List.of("- > a 1", "a > c 3", "c > - 4"), "l", List.of("- > b 2")),
        blocks(blocks));
    assertFalse(blocks.hasNext());
    assertThrows(NoSuchElementException.class, blocks::next);
  }

  @Test
  void aRowThatMovesToAnotherKeyIsADeleteThereAndAnInsertHere() {
    Map<String, List<String>> moved = blocks(gather(false, change("k", "a", "l", "b", 1)));
    assertEquals(Map.of("k", List.of("a > - 1"), "l", List.of("- > b 1")), moved);
  }

  @Test
  void aDeleteAsItComesHasOnlyAKey() {
    assertEquals(
        Map.of("k", List.of("- > - 1")), blocks(gather(false, change(null, null, "k", null, 1))));
  }

  /** The input may wait for rows that are not there yet. */
  @Test
  void atOnceNothingWaits() {
    List<InternalRow> coming =
        new ArrayList<>(List.of(change(null, null, "k", "a", 1), change("k", "a", "l", "b", 2)));
    Iterator<InternalRow> input =
        CollectionConverters.asScala(
            new java.util.Iterator<>() {
              @Override
              public boolean hasNext() {
                return !coming.isEmpty();
              }

              @Override
              public InternalRow next() {
                return coming.remove(0);
              }
            });
    Iterator<InternalRow> blocks = new Gather(true, references(COLUMNS)).rows(input);
    assertTrue(blocks.hasNext());
    assertEquals(1, coming.size());
    blocks.next();
    assertEquals(Map.of("k", List.of("a > - 2"), "l", List.of("- > b 2")), blocks(blocks));
  }

  @Test
  void aTaskWithoutRowsGivesNothing() {
    assertEquals(Map.of(), blocks(gather(false)));
  }

  @Test
  void fullBlocksDoNotWaitForTheEnd() {
    String large = "x".repeat(1 << 20);
    InternalRow[] rows = new InternalRow[40];
    for (int i = 0; i < 40; i++) rows[i] = change(null, null, "k", large, i);
    List<Integer> given = new ArrayList<>();
    Iterator<InternalRow> blocks = gather(false, rows);
    while (blocks.hasNext()) given.add(Driven.changes(List.of(blocks.next().getBinary(1))).size());
    assertEquals(Collections.nCopies(40, 1), given);
  }

  /**
   * Keys and rows of all sizes, more than is held at a time; each row that is given is overwritten
   * by the next.
   */
  @Test
  void everyChangeIsInABlockOfItsKeyInOrder() {
    Random chance = new Random(7);
    Map<String, List<String>> expected = new TreeMap<>();
    Map<String, List<String>> given = new TreeMap<>();
    Iterator<InternalRow> input =
        CollectionConverters.asScala(
            IntStream.range(0, 20_000)
                .mapToObj(
                    i -> {
                      String key =
                          "k".repeat(chance.nextInt(40))
                              + chance.nextInt(chance.nextBoolean() ? 20 : 2_000);
                      String row =
                          i + "x".repeat(chance.nextInt(chance.nextInt(100) == 0 ? 9_000 : 2_000));
                      expected
                          .computeIfAbsent(key, any -> new ArrayList<>())
                          .add("- > " + row + " " + i);
                      return change(null, null, key, row, i);
                    })
                .iterator());
    Iterator<InternalRow> blocks = new Gather(false, references(COLUMNS)).rows(input);
    boolean several = false;
    while (blocks.hasNext()) {
      int more = 0;
      InternalRow block = blocks.next();
      for (var one : blocks(Iterator$.MODULE$.single(block)).entrySet()) {
        given.computeIfAbsent(one.getKey(), any -> new ArrayList<>()).addAll(one.getValue());
        more += one.getValue().size();
      }
      assertTrue(more > 0);
      several |= more > 1;
    }
    assertTrue(several);
    assertEquals(expected, given);
  }

  @Test
  void severalChangesInOneRowAreOfDifferentSides() {
    DataType[] two = new DataType[18];
    Object[] values = new Object[18];
    for (int i = 0; i < 18; i++) two[i] = COLUMNS[i % 9];
    for (int i = 0; i < 18; i += 9) {
      values[i + 1] = key("k");
      values[i + 2] = i / 9;
      for (int j = 3; j < 7; j++) values[i + j] = (long) j;
      values[i + 8] = row("r" + i / 9);
    }
    InternalRow both = Rows.of(two, values).row();
    values[1] = null;
    Iterator<InternalRow> blocks =
        new Gather(false, references(two)).rows(input(both, Rows.of(two, values).row()));
    List<String> sides = new ArrayList<>();
    CollectionConverters.asJava(blocks)
        .forEachRemaining(
            row -> {
              var changes = Driven.changes(List.of(row.getBinary(1)));
              for (Change change : changes)
                sides.add(change.side() + " " + text(change.after()) + " of " + changes.size());
            });
    assertEquals(List.of("0 r0 of 1", "1 r1 of 2", "1 r1 of 2"), sides);
  }

  @Test
  void whatHasNoSideIsNoChange() {
    assertEquals(
        Map.of(),
        blocks(
            gather(
                false,
                Rows.of(COLUMNS, null, key("k"), null, 20L, 10L, 30L, 1L, null, row("a")).row())));
  }

  private static Scatter scatter(StructType type, boolean pairs) {
    return new Scatter(Scatter.type(type, type), pairs, false, references(DataTypes.BinaryType));
  }

  private static void each(Scatter scatter, byte[] block, Consumer<InternalRow> row) {
    InternalRow input = Rows.of(new DataType[] {DataTypes.BinaryType}, (Object) block).row();
    CollectionConverters.asJava(scatter.rows(input(input))).forEachRemaining(row);
  }

  @Test
  void scatterGivesTheChangesOneByOne() {
    BlockBuilder builder = new BlockBuilder(0);
    builder.add(new Change((byte) 1, 2, 3, 4, 5, Rows.of("a").bytes(), null));
    builder.add(new Change((byte) 1, 2, 3, Block.NO_VERSION, 5, null, Rows.of("b").bytes()));
    List<String> rows = new ArrayList<>();
    each(
        scatter(KEY, false),
        builder.build(),
        row -> {
          String version = row.isNullAt(2) ? "null" : "" + row.getLong(2);
          String before = row.isNullAt(4) ? "null" : row.getStruct(4, 1).getString(0);
          String after = row.isNullAt(5) ? "null" : row.getStruct(5, 1).getString(0);
          rows.add(
              row.getLong(0)
                  + " "
                  + row.getLong(1)
                  + " "
                  + String.join(" ", version, "" + row.getLong(3), before, after));
        });
    assertEquals(List.of("2 3 4 5 a null", "2 3 null 5 null b"), rows);
  }

  /** Spark gives every row in the same buffer. */
  @Test
  void scatterAsksForABlockOnlyWhenTheOneBeforeIsDone() {
    UnsafeRow buffer = new UnsafeRow(1);
    buffer.pointTo(new byte[512], 512);
    java.util.Iterator<InternalRow> blocks =
        Stream.of("a", "b", "c")
            .<InternalRow>map(
                name -> {
                  BlockBuilder builder = new BlockBuilder(0);
                  builder.add(new Change((byte) 0, 1, 0, 0, 0, null, Rows.of(name).bytes()));
                  builder.add(new Change((byte) 0, 1, 0, 0, 0, null, Rows.of(name + name).bytes()));
                  byte[] row =
                      Rows.of(new DataType[] {DataTypes.BinaryType}, (Object) builder.build())
                          .bytes();
                  System.arraycopy(row, 0, (byte[]) buffer.getBaseObject(), 0, row.length);
                  return buffer;
                })
            .iterator();
    List<String> names = new ArrayList<>();
    Iterator<InternalRow> rows = scatter(KEY, false).rows(CollectionConverters.asScala(blocks));
    while (rows.hasNext()) names.add(rows.next().getStruct(5, 1).getString(0));
    assertEquals(List.of("a", "aa", "b", "bb", "c", "cc"), names);
    assertThrows(NoSuchElementException.class, rows::next);
  }

  @Test
  void scatterGivesPairsAsStructsOfTwo() {
    BlockBuilder builder = new BlockBuilder(0);
    byte[] both = Pair.of(Rows.of("a").bytes(), Rows.of("b").bytes());
    builder.add(new Change((byte) 0, 1, 0, 0, 0, both, Pair.of(Rows.of("c").bytes(), null)));
    List<String> rows = new ArrayList<>();
    each(
        scatter(new StructType().add("left", KEY).add("right", KEY), true),
        builder.build(),
        row -> {
          InternalRow before = row.getStruct(4, 2);
          InternalRow after = row.getStruct(5, 2);
          rows.add(
              before.getStruct(0, 1).getString(0)
                  + before.getStruct(1, 1).getString(0)
                  + after.getStruct(0, 1).getString(0));
          assertTrue(after.isNullAt(1));
        });
    assertEquals(List.of("abc"), rows);
  }

  @Test
  void whatWasLeftOutIsNoChange() {
    byte[] count = Operator.with(Operator.none(), Operator.LATE, 3).next();
    each(scatter(KEY, false), count, row -> fail("no row"));
  }
}
