package headrace.kernel.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.Change;
import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Call.Kind;
import headrace.kernel.table.aggregate.Calls;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class TableAggregateTest {
  /** Groups of rows, what the operator emits of them, and what is to be emitted. */
  private static final class Groups {
    final Calls calls;
    final Driven driven;
    final Emitted emitted = new Emitted();
    final boolean whole;
    final Map<String, List<Entry>> rows = new TreeMap<>();
    private final Map<String, List<Change>> batch = new TreeMap<>();
    private long now = 1000;

    Groups(boolean whole, Calls calls) {
      this.whole = whole;
      this.calls = calls;
      this.driven = Driven.of(new TableAggregate(calls, whole, StepSize.BATCH));
    }

    Groups(Calls calls) {
      this(false, calls);
    }

    /** One call over one column. */
    Groups(Kind kind, DataType type, DataType result) {
      this(
          new Calls(
              new Call[] {
                new Call(
                    kind, 0, new DataType[] {type}, -1, kind == Kind.MIN ? 1 : 0, false, result)
              },
              1));
    }

    void change(String key, Entry before, Entry after) {
      List<Entry> group = rows.computeIfAbsent(key, none -> new ArrayList<>());
      if (before != null) assertTrue(group.remove(before));
      if (after != null) group.add(after);
      batch
          .computeIfAbsent(key, none -> new ArrayList<>())
          .add(
              new Change(
                  (byte) 0,
                  after == null ? now++ : after.time(),
                  before == null ? 0 : before.time(),
                  0,
                  0,
                  before == null ? null : before.bytes(),
                  after == null ? null : after.bytes()));
    }

    Entry add(Object... values) {
      DataType[] types = Arrays.stream(calls.calls()).findFirst().orElseThrow().arguments();
      Entry entry = new Entry(types, now++, values);
      change("k", null, entry);
      return entry;
    }

    void remove(Entry... entries) {
      for (Entry entry : entries) change("k", entry, null);
    }

    /** Runs the changes as a batch; the one result that is then emitted of the one group. */
    Object emitted() {
      feed(new Random(0));
      return results().get("k").get(0);
    }

    private void feed(Random chance) {
      batch.forEach(
          (key, changes) -> {
            for (Change change : driven.feed(Driven.key(key), changes, chance))
              emitted.take(key, change);
          });
      batch.clear();
    }

    /** Runs the changes as a batch; what is emitted must then be what the rows make. */
    void run(Random chance) {
      feed(chance);
      Map<String, List<Object>> results = results();
      rows.forEach(
          (key, group) -> {
            if (!group.isEmpty() || whole) {
              Recomputed.assertResults(calls, group, results.get(key));
            } else {
              assertNull(results.get(key));
              assertNull(driven.value("group", key), "nothing is left of " + key);
            }
          });
    }

    Map<String, List<Object>> results() {
      Map<String, List<Object>> results = new TreeMap<>();
      emitted
          .rows(bytes -> bytes)
          .forEach(
              (key, bytes) -> {
                int length = Driven.key(key).length;
                assertArrayEquals(
                    Driven.key(key),
                    Arrays.copyOfRange(bytes, 5, 5 + length),
                    "the key, before the results");
                byte[] row = Arrays.copyOfRange(bytes, 5 + length, bytes.length);
                results.put(key, Rows.values(row, Functions.results(calls)));
              });
      return results;
    }

    /** The one result of the one group, after a batch; null without a group. */
    Object result() {
      run(new Random(0));
      return results().isEmpty() ? null : results().get("k").get(0);
    }
  }

  private static void random(Calls calls, boolean whole) {
    Chance.times(
        20,
        chance -> {
          Groups groups = new Groups(whole, calls);
          for (int batch = 0; batch < 8; batch++) {
            for (String key : List.of("k", "l", "m")) {
              List<Entry> group = List.copyOf(groups.rows.getOrDefault(key, List.of()));
              // Those that come are counted before those that go; all of them together must fit
              // into the head.
              int room = 8 - group.size();
              int most = 8;
              for (Entry entry : group) {
                if (chance.nextInt(3) == 0 || batch == 7) {
                  boolean stays = batch < 7 && most-- > 0 && chance.nextBoolean();
                  groups.change(key, entry, stays ? Functions.few(chance) : null);
                }
              }
              for (int more = batch == 7 ? 0 : chance.nextInt(room + 1); more > 0; more--) {
                groups.change(key, null, Functions.few(chance));
              }
              // A row that comes and goes in one batch.
              if (chance.nextInt(3) == 0) {
                Entry entry = Functions.few(chance);
                groups.change(key, null, entry);
                groups.change(key, entry, null);
              }
            }
            groups.run(chance);
          }
        });
  }

  @Test
  void rowsThatComeAndGoMakeWhatTheRowsThatAreThereMake() {
    random(Functions.all(), false);
  }

  @Test
  void theFirstOfAnOrderToo() {
    random(Functions.ordered(), false);
  }

  @Test
  void aWholeTableToo() {
    random(Functions.all(), true);
    random(Functions.ordered(), true);
  }

  @Test
  void aGroupThatBecomesEmptyIsGoneAndCanComeBack() {
    Groups groups = new Groups(Kind.COUNT, DataTypes.LongType, DataTypes.LongType);
    Entry one = groups.add(1L);
    Entry other = groups.add(1L);
    assertEquals(2L, groups.result());
    groups.remove(one, other);
    assertNull(groups.result());
    assertNull(groups.driven.value("group", "k"));
    groups.add(5L);
    assertEquals(1L, groups.result());
  }

  @Test
  void aWholeTableWithoutRowsIsStillOneRow() {
    DataType type = DataTypes.LongType;
    Call count = new Call(Kind.COUNT, 0, new DataType[] {type}, -1, 0, false, type);
    Groups groups = new Groups(true, new Calls(new Call[] {count}, 1));
    Entry one = groups.add(1L);
    assertEquals(1L, groups.result());
    groups.remove(one);
    assertEquals(0L, groups.result());
    assertNotNull(groups.driven.value("group", "k"));
  }

  @Test
  void aResultThatStaysIsNotTold() {
    Groups groups = new Groups(Kind.MIN, DataTypes.IntegerType, DataTypes.IntegerType);
    groups.add(1);
    assertEquals(1, groups.result());
    Change other = new Change((byte) 0, 2000, 0, 0, 0, null, Rows.of(7).bytes());
    assertEquals(List.of(), groups.driven.feed("k", other));
    Change same = new Change((byte) 0, 3000, 2000, 0, 0, Rows.of(7).bytes(), Rows.of(8).bytes());
    assertEquals(List.of(), groups.driven.feed("k", same));
    Change first =
        groups
            .driven
            .feed("k", new Change((byte) 0, 4000, 0, 0, 0, null, Rows.of(0).bytes()))
            .get(0);
    assertEquals(1000, first.beforeTime(), "the time of what was emitted");
    assertEquals(4000, first.time());
  }

  @Test
  void sumsOfDoublesAreExact() {
    Groups groups = new Groups(Kind.SUM, DataTypes.DoubleType, DataTypes.DoubleType);
    Entry tenth = groups.add(0.1);
    Entry large = groups.add(1e17);
    Entry largest = groups.add(Double.MAX_VALUE);
    Entry second = groups.add(Double.MAX_VALUE);
    assertEquals(Double.POSITIVE_INFINITY, groups.result(), "too large for a double");
    groups.remove(largest, second);
    assertEquals(1e17, groups.result());
    groups.remove(large);
    assertEquals(0.1, groups.result(), "nothing is left of what went");
    Entry small = groups.add(Double.MIN_VALUE);
    assertEquals(0.1, groups.result());
    groups.remove(tenth);
    assertEquals(Double.MIN_VALUE, groups.result());
    groups.remove(small);
    assertNull(groups.result());
    groups.add(-0.0);
    assertEquals(0.0, groups.result());
  }

  @Test
  void anAverageIsRoundedOnce() {
    Groups groups = new Groups(Kind.AVERAGE, DataTypes.DoubleType, DataTypes.DoubleType);
    groups.add(0.1);
    groups.add(0.2);
    // Half way between 0.15 and this, which is even: 40 digits are too few to see it.
    assertEquals(0.15000000000000002, groups.result());
  }

  @Test
  void theSumOfDoublesDoesNotDependOnTheOrder() {
    Chance.times(
        100,
        chance -> {
          Groups groups =
              new Groups(
                  Chance.one(chance, Kind.SUM, Kind.AVERAGE),
                  DataTypes.DoubleType,
                  DataTypes.DoubleType);
          List<Entry> entries = new ArrayList<>();
          for (int i = 0; i < 30; i++) {
            double any = Double.longBitsToDouble(chance.nextLong());
            double value = Chance.one(chance, chance.nextGaussian(), any, 1e300, -1e300, 0.1);
            entries.add(groups.add(Double.isNaN(value) ? -0.0 : value));
            if (chance.nextInt(3) == 0)
              groups.remove(entries.remove(chance.nextInt(entries.size())));
            if (chance.nextInt(4) == 0) groups.run(chance);
          }
          groups.run(chance);
        });
  }

  @Test
  void notANumberAndInfinitiesComeAndGo() {
    for (Kind kind : List.of(Kind.SUM, Kind.AVERAGE)) {
      Groups groups = new Groups(kind, DataTypes.DoubleType, DataTypes.DoubleType);
      groups.add(4.0);
      Entry nan = groups.add(Double.NaN);
      assertEquals(Double.NaN, groups.result());
      Entry plus = groups.add(Double.POSITIVE_INFINITY);
      assertEquals(Double.NaN, groups.result());
      groups.remove(nan);
      assertEquals(Double.POSITIVE_INFINITY, groups.result());
      Entry minus = groups.add(Double.NEGATIVE_INFINITY);
      assertEquals(Double.NaN, groups.result());
      groups.remove(plus);
      assertEquals(Double.NEGATIVE_INFINITY, groups.result());
      Entry again = groups.add(Double.NEGATIVE_INFINITY);
      groups.remove(minus);
      assertEquals(Double.NEGATIVE_INFINITY, groups.result());
      groups.remove(again);
      assertEquals(4.0, groups.result());
    }
  }

  @Test
  void aSumOfLongsMayBeTooLargeInBetween() {
    Groups groups = new Groups(Kind.SUM, DataTypes.LongType, DataTypes.LongType);
    Entry largest = groups.add(Long.MAX_VALUE);
    groups.run(new Random(0));
    Entry one = groups.add(1L);
    groups.remove(largest);
    assertEquals(1L, groups.result());
    Entry smallest = groups.add(Long.MIN_VALUE);
    assertEquals(Long.MIN_VALUE + 1, groups.result());
    groups.add(-1L);
    groups.add(Long.MAX_VALUE);
    assertEquals(-1L, groups.result());
    groups.remove(smallest, one);
    assertEquals(Long.MAX_VALUE - 1, groups.result());
  }

  @Test
  void aSumOfLongsDoesNotDependOnTheOrder() {
    Chance.times(
        100,
        chance -> {
          Groups groups = new Groups(Kind.SUM, DataTypes.LongType, DataTypes.LongType);
          List<Entry> entries = new ArrayList<>();
          for (int batch = 0; batch < 10; batch++) {
            for (int i = 0; i < 5; i++) {
              long value =
                  Chance.one(
                      chance,
                      Long.MAX_VALUE,
                      Long.MIN_VALUE,
                      1L << 62,
                      -1L << 62,
                      chance.nextLong(),
                      1L,
                      -1L);
              entries.add(groups.add(value));
              if (chance.nextInt(2) == 0)
                groups.remove(entries.remove(chance.nextInt(entries.size())));
            }
            BigInteger sum = BigInteger.ZERO;
            for (Entry entry : entries) sum = sum.add(BigInteger.valueOf((Long) entry.values()[0]));
            if (sum.bitLength() < 64) groups.run(chance);
          }
        });
  }

  @Test
  void aSumThatDoesNotFitFails() {
    Groups longs = new Groups(Kind.SUM, DataTypes.LongType, DataTypes.LongType);
    longs.add(Long.MAX_VALUE);
    longs.add(1L);
    assertThrows(ArithmeticException.class, longs::result);
    Groups negative = new Groups(Kind.SUM, DataTypes.LongType, DataTypes.LongType);
    negative.add(Long.MIN_VALUE);
    negative.add(-1L);
    assertThrows(ArithmeticException.class, negative::result);
    DataType decimal = DataTypes.createDecimalType(38, 2);
    Groups decimals = new Groups(Kind.SUM, decimal, decimal);
    decimals.add(new BigDecimal("9".repeat(36) + ".99"));
    assertEquals(new BigDecimal("9".repeat(36) + ".99"), decimals.result());
    decimals.add(new BigDecimal("0.01"));
    assertThrows(ArithmeticException.class, decimals::result);
  }

  @Test
  void sumsAndAveragesOfOtherNumbers() {
    DataType decimal = DataTypes.createDecimalType(10, 2);
    Groups sum = new Groups(Kind.SUM, decimal, DataTypes.createDecimalType(20, 2));
    Groups average = new Groups(Kind.AVERAGE, decimal, DataTypes.createDecimalType(14, 6));
    for (Groups groups : List.of(sum, average)) {
      for (String value : List.of("0.01", "-99999999.99", "5.00"))
        groups.add(new BigDecimal(value));
      groups.run(new Random(0));
      groups.add(new BigDecimal("99999999.99"));
    }
    assertEquals(new BigDecimal("5.01"), sum.result());
    assertEquals(new BigDecimal("1.252500"), average.result());
    Groups bytes = new Groups(Kind.SUM, DataTypes.ByteType, DataTypes.LongType);
    bytes.add((byte) 127);
    bytes.add((byte) -1);
    assertEquals(126L, bytes.result());
    Groups shorts = new Groups(Kind.AVERAGE, DataTypes.ShortType, DataTypes.DoubleType);
    shorts.add((short) 1);
    shorts.add((short) 2);
    assertEquals(1.5, shorts.result());
    Groups floats = new Groups(Kind.SUM, DataTypes.FloatType, DataTypes.DoubleType);
    Change change =
        new Change(
            (byte) 0,
            1,
            0,
            0,
            0,
            null,
            Rows.of(new DataType[] {DataTypes.FloatType}, 0.1f).bytes());
    byte[] row = floats.driven.feed("k", change).get(0).after();
    byte[] result = Arrays.copyOfRange(row, 5 + Driven.key("k").length, row.length);
    assertEquals(List.of((double) 0.1f), Rows.values(result, DataTypes.DoubleType));
  }

  @Test
  void aSumOfNothingButNullsIsNull() {
    Groups groups = new Groups(Kind.SUM, DataTypes.LongType, DataTypes.LongType);
    groups.add((Object) null);
    assertNull(groups.result());
    assertEquals(1, groups.emitted.rows().size());
    Entry one = groups.add(0L);
    assertEquals(0L, groups.result());
    groups.remove(one);
    assertNull(groups.result());
  }

  @Test
  void thereIsOneZeroAndOneThatIsNotANumber() {
    float nan = Float.intBitsToFloat(0x7fc00001);
    Groups floats = new Groups(Kind.COUNT_DISTINCT, DataTypes.FloatType, DataTypes.LongType);
    Entry[] entries = {floats.add(0f), floats.add(-0f), floats.add(Float.NaN), floats.add(nan)};
    assertEquals(2L, floats.emitted());
    floats.remove(entries[0], entries[2]);
    assertEquals(2L, floats.emitted());
    Groups doubles =
        new Groups(Kind.SET, DataTypes.DoubleType, DataTypes.createArrayType(DataTypes.DoubleType));
    Entry zero = doubles.add(0.0);
    doubles.add(-0.0);
    assertEquals(List.of(0.0), doubles.emitted());
    doubles.remove(zero);
    assertEquals(List.of(0.0), doubles.emitted());
    // What came as one zero may go as the other: from one to the other is no change.
    Groups least = new Groups(Kind.MIN, DataTypes.DoubleType, DataTypes.DoubleType);
    least.add(5.0);
    Entry came = least.add(0.0);
    assertEquals(0.0, least.emitted());
    Entry goes = new Entry(came.types(), came.time(), -0.0);
    least.rows.get("k").add(goes);
    least.remove(goes);
    assertEquals(5.0, least.emitted());
  }

  @Test
  void distinctValuesAreCountedOnceAndForgottenWithTheLast() {
    Groups groups = new Groups(Kind.COUNT_DISTINCT, DataTypes.DoubleType, DataTypes.LongType);
    Entry zero = groups.add(0.0);
    Entry minus = groups.add(-0.0);
    Entry nan = groups.add(Double.NaN);
    groups.add(Double.NaN);
    groups.add((Object) null);
    assertEquals(2L, groups.result());
    groups.remove(zero);
    assertEquals(2L, groups.result());
    groups.remove(minus, nan);
    assertEquals(1L, groups.result());
    assertEquals(1, groups.driven.map("values0", Driven.key("k")).size());
    for (Entry entry : List.copyOf(groups.rows.get("k"))) groups.remove(entry);
    groups.run(new Random(0));
    assertTrue(groups.driven.map("values0", Driven.key("k")).isEmpty());
  }
}
