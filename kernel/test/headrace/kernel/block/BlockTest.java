package headrace.kernel.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Driven;
import headrace.kernel.table.Rows;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;

class BlockTest {
  private static byte[] row(Random chance) {
    if (chance.nextInt(4) == 0) return null;
    byte[] row = new byte[Chance.one(chance, 0, 1, 7, 8, 16, chance.nextInt(300))];
    chance.nextBytes(row);
    return row;
  }

  private static long number(Random chance) {
    return Chance.one(chance, 0L, 1L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, chance.nextLong());
  }

  private static Change change(Random chance) {
    byte side = (byte) chance.nextInt(2);
    return new Change(
        side,
        number(chance),
        number(chance),
        number(chance),
        number(chance),
        row(chance),
        row(chance));
  }

  private static void assertSame(Change expected, Change found) {
    assertEquals(expected.side(), found.side());
    assertEquals(expected.time(), found.time());
    assertEquals(expected.beforeTime(), found.beforeTime());
    assertEquals(expected.version(), found.version());
    assertEquals(expected.sequence(), found.sequence());
    assertArrayEquals(expected.before(), found.before());
    assertArrayEquals(expected.after(), found.after());
  }

  @Test
  void whatWasWrittenIsRead() {
    Chance.times(
        300,
        chance -> {
          List<Change> changes = new ArrayList<>();
          for (int left = chance.nextInt(20); left > 0; left--) changes.add(change(chance));
          BlockBuilder builder = new BlockBuilder(chance.nextInt(100));
          for (Change change : changes) builder.add(change);
          assertEquals(changes.isEmpty(), builder.isEmpty());
          byte[] bytes = builder.build();
          assertEquals(builder.size(), bytes.length);
          List<Change> read = Driven.changes(List.of(bytes));
          assertEquals(changes.size(), read.size());
          for (int i = 0; i < read.size(); i++) assertSame(changes.get(i), read.get(i));
        });
  }

  @Test
  void aBlockWithoutChangesIsEmpty() {
    assertEquals(0, new BlockBuilder(0).build().length);
    assertFalse(new Block(new byte[0]).next());
  }

  @Test
  void aRowWithoutBytesIsNotARowThatIsMissing() {
    BlockBuilder builder = new BlockBuilder(0);
    builder.add(new Change((byte) 1, 2, 3, 4, 5, new byte[0], null));
    Block block = new Block(builder.build());
    assertTrue(block.next());
    assertEquals(0, block.before().length);
    assertNull(block.after());
    assertFalse(block.next());
  }

  @Test
  void aBlockThatIsExactlyFullIsWhole() {
    Change change = new Change((byte) 0, 1, 2, 3, 4, new byte[] {1}, new byte[] {2, 3});
    BlockBuilder builder = new BlockBuilder(Block.HEAD + 3);
    builder.add(change);
    assertEquals(Block.HEAD + 3, builder.size());
    assertSame(change, Driven.changes(List.of(builder.build())).get(0));
  }

  @Test
  void rowsAreCopiedOutOfTheBlock() {
    BlockBuilder builder = new BlockBuilder(0);
    builder.add(new Change((byte) 0, 1, 2, 3, 4, new byte[] {1}, new byte[] {2}));
    byte[] bytes = builder.build();
    Block block = new Block(bytes);
    block.next();
    Change change = block.change();
    java.util.Arrays.fill(bytes, (byte) 9);
    assertArrayEquals(new byte[] {1}, change.before());
    assertArrayEquals(new byte[] {2}, change.after());
    assertNotSame(block.after(), block.after());
  }

  @Test
  void rowsComeFromAnyPlaceInMemory() {
    long memory = Platform.allocateMemory(8);
    try {
      for (int i = 0; i < 8; i++) Platform.putByte(null, memory + i, (byte) i);
      byte[] heap = {10, 11, 12, 13};
      BlockBuilder builder = new BlockBuilder(0);
      builder.add(
          (byte) 0, 1, 2, 3, 4, null, memory + 2, 3, heap, Platform.BYTE_ARRAY_OFFSET + 1, 2);
      Change change = Driven.changes(List.of(builder.build())).get(0);
      assertArrayEquals(new byte[] {2, 3, 4}, change.before());
      assertArrayEquals(new byte[] {11, 12}, change.after());
    } finally {
      Platform.freeMemory(memory);
    }
  }

  @Test
  void whatIsTooLargeForABlockIsRefusedAndNotWrittenElsewhere() {
    int large = 1_500_000_000;
    long start = Platform.BYTE_ARRAY_OFFSET;
    byte[] row = {};
    BlockBuilder builder = new BlockBuilder(64);
    assertThrows(
        ArithmeticException.class,
        () -> builder.add((byte) 0, 1, 2, 3, 4, row, start, large, row, start, large));
    assertTrue(builder.isEmpty());
  }

  @Test
  void anEventIsCopiedAsTheRowBefore() {
    Chance.times(
        100,
        chance -> {
          BlockBuilder in = new BlockBuilder(0);
          in.add(change(chance));
          in.add(change(chance));
          Block block = new Block(in.build());
          BlockBuilder out = new BlockBuilder(0);
          List<Change> expected = new ArrayList<>();
          while (block.next()) {
            byte[] after = row(chance);
            block.copyAfterAsBefore(out, (byte) 1, 5, 6, after);
            expected.add(new Change((byte) 1, 5, 0, 6, block.sequence(), block.after(), after));
          }
          List<Change> found = Driven.changes(List.of(out.build()));
          assertEquals(2, found.size());
          for (int i = 0; i < 2; i++) assertSame(expected.get(i), found.get(i));
        });
  }

  @Test
  void aRowThatIsGivenAgainIsWrittenOnce() {
    byte[] event = new byte[16];
    byte[] row = new byte[1000];
    BlockBuilder in = new BlockBuilder(0);
    for (int i = 0; i < 3; i++) in.add(new Change((byte) 0, i, 0, 0, 0, null, event));
    Block block = new Block(in.build());
    BlockBuilder out = new BlockBuilder(0);
    List<byte[]> given = new ArrayList<>();
    for (byte[] after : new byte[][] {row, row, null}) {
      block.next();
      block.copyAfterAsBefore(out, (byte) 0, 1, 1, after);
      given.add(after);
    }
    out.add(new Change((byte) 0, 1, 0, 0, 0, null, event));
    block = new Block(in.build());
    block.next();
    block.copyAfterAsBefore(out, (byte) 0, 1, 1, row);
    assertTrue(out.size() < 2300, "twice, not three times");
    List<Change> found = Driven.changes(List.of(out.build()));
    for (int i = 0; i < 3; i++) assertArrayEquals(given.get(i), found.get(i).after());
    assertArrayEquals(event, found.get(3).after());
    assertArrayEquals(row, found.get(4).after());
  }

  @Test
  void aPairIsTakenApartAgain() {
    byte[] left = Rows.of("a", 1).bytes();
    byte[] right = Rows.of("b", null, 3.5).bytes();
    Struct struct = new Struct(2, 3);
    InternalRow both = struct.at(Pair.of(left, right));
    assertEquals("a", both.getStruct(0, 2).getString(0));
    assertEquals(1, both.getStruct(0, 2).getInt(1));
    assertEquals("b", both.getStruct(1, 3).getString(0));
    assertTrue(both.getStruct(1, 3).isNullAt(1));
    assertEquals(3.5, both.getStruct(1, 3).getDouble(2));
    assertTrue(struct.at(Pair.of(left, null)).isNullAt(1));
    assertEquals(1, struct.at(Pair.of(left, null)).getStruct(0, 2).getInt(1));
    assertTrue(struct.at(Pair.of(null, right)).isNullAt(0));
    assertEquals(3.5, struct.at(Pair.of(null, right)).getStruct(1, 3).getDouble(2));
    assertEquals("a", new Struct(2).at(left).getString(0));
  }
}
