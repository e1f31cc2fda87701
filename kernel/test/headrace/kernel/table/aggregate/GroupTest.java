package headrace.kernel.table.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Functions;
import headrace.kernel.table.Recomputed;
import headrace.kernel.table.Recomputed.Entry;
import headrace.kernel.table.Rows;
import headrace.kernel.table.aggregate.Call.Kind;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Groups with more values than a head takes, on a map that has the order of RocksDB. */
class GroupTest {
  /** A group's rows, and its aggregates, which are written and read between batches. */
  private static final class StoredRow {
    final Calls calls;
    final List<SortedMapState> maps = new ArrayList<>();
    final Group group;
    final List<Entry> rows = new ArrayList<>();
    private byte[] written;

    StoredRow(Calls calls) {
      this.calls = calls;
      this.group =
          new Group(
              calls,
              () -> {
                maps.add(new SortedMapState());
                return maps.get(maps.size() - 1);
              });
    }

    /** One call over one column. */
    StoredRow(Kind kind, DataType type, int most) {
      this(
          new Calls(
              new Call[] {new Call(kind, 0, new DataType[] {type}, -1, most, false, type)}, 1));
    }

    /** A batch: what comes is emitted before what goes. */
    List<Object> run(List<Entry> come, List<Entry> go) {
      try {
        group.clear();
        if (written != null) group.read(new DataInputStream(new ByteArrayInputStream(written)));
        for (Entry entry : come) group.change(entry.bytes(), 1, entry.time());
        for (Entry entry : go) group.change(entry.bytes(), -1, entry.time());
        rows.addAll(come);
        for (Entry entry : go) assertTrue(rows.remove(entry));
        assertEquals(rows.isEmpty(), group.isEmpty());
        List<Object> results = Rows.values(group.result(), Functions.results(calls));
        Recomputed.assertResults(calls, rows, results);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        group.write(new DataOutputStream(bytes));
        written = group.isEmpty() ? null : bytes.toByteArray();
        if (group.isEmpty())
          for (SortedMapState map : maps) assertEquals(0, map.size(), "nothing is left");
        return results;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static void random(Random chance, Calls calls, boolean few) {
    StoredRow kept = new StoredRow(calls);
    for (int batch = 0; batch < 25; batch++) {
      // Grows, then shrinks, then is gone.
      int most = batch < 12 ? 20 : batch < 24 ? 3 : 0;
      List<Entry> come = new ArrayList<>();
      for (int left = chance.nextInt(most + 1); left > 0; left--) {
        come.add(few ? Functions.few(chance) : Functions.many(chance));
      }
      List<Entry> there = new ArrayList<>(kept.rows);
      there.addAll(come);
      Collections.shuffle(there, chance);
      kept.run(
          come,
          there.subList(
              0, batch == 24 ? there.size() : chance.nextInt(Math.min(there.size(), 20) + 1)));
    }
  }

  @Test
  void rowsThatComeAndGoMakeWhatTheRowsThatAreThereMake() {
    Chance.times(10, chance -> random(chance, Functions.ordered(), false));
    Chance.times(10, chance -> random(chance, Functions.ordered(), true));
    Chance.times(6, chance -> random(chance, Functions.all(), chance.nextBoolean()));
  }

  private static Entry entry(DataType type, Object value) {
    return new Entry(new DataType[] {type}, 0, value);
  }

  private static List<Entry> numbers(int from, int to) {
    List<Entry> numbers = new ArrayList<>();
    for (int i = from; i < to; i++) numbers.add(entry(DataTypes.IntegerType, i));
    return numbers;
  }

  @Test
  void aSmallGroupNeedsNoMapAndALargeOneIsRarelyScanned() {
    StoredRow kept = new StoredRow(Kind.MIN, DataTypes.IntegerType, 1);
    kept.run(numbers(0, 17), List.of());
    assertEquals(0, kept.maps.get(0).size());
    kept.run(numbers(17, 18), List.of());
    assertEquals(18, kept.maps.get(0).size());
    kept.run(numbers(18, 120), List.of());
    assertEquals(120, kept.maps.get(0).size());
    for (int i = 0; i < 85; i++) kept.run(List.of(), numbers(i, i + 1));
    assertEquals(5, kept.maps.get(0).scans);
  }

  @Test
  void theHeadIsFilledAgainWhenAllOfItGoesAtOnce() {
    StoredRow kept = new StoredRow(Kind.MIN, DataTypes.IntegerType, 1);
    kept.run(numbers(0, 100), List.of());
    assertEquals(List.of(60), kept.run(List.of(), numbers(0, 60)));
    assertEquals(List.of(5), kept.run(numbers(5, 6), List.of()));
    assertEquals(List.of(99), kept.run(List.of(), concat(numbers(5, 6), numbers(60, 99))));
    kept.run(List.of(), numbers(99, 100));
  }

  private static List<Entry> concat(List<Entry> one, List<Entry> other) {
    List<Entry> both = new ArrayList<>(one);
    both.addAll(other);
    return both;
  }

  @Test
  void valuesWithALongCommonBeginningAreInOrder() {
    List<Entry> texts = new ArrayList<>();
    for (int i = 0; i < 60; i++)
      texts.add(entry(DataTypes.StringType, "https://example.com/" + (char) ('A' + i)));
    for (int i = 0; i < 60; i++) texts.add(entry(DataTypes.StringType, "\0".repeat(i)));
    for (Kind kind : List.of(Kind.MIN, Kind.MAX)) {
      List<Entry> left = new ArrayList<>(texts);
      Collections.shuffle(left, new Random(1));
      StoredRow kept = new StoredRow(kind, DataTypes.StringType, 1);
      kept.run(left, List.of());
      while (!left.isEmpty()) {
        List<Entry> go = new ArrayList<>(left.subList(0, Math.min(7, left.size())));
        left.removeAll(go);
        kept.run(List.of(), go);
      }
    }
  }

  @Test
  void equalValuesAreCounted() {
    StoredRow kept = new StoredRow(Kind.MAX, DataTypes.IntegerType, 1);
    kept.run(numbers(0, 50), List.of());
    kept.run(concat(numbers(40, 50), numbers(0, 3)), List.of());
    kept.run(List.of(), numbers(0, 50));
    assertEquals(List.of(41), kept.run(List.of(), numbers(42, 50)));
    assertEquals(List.of(2), kept.run(List.of(), numbers(40, 42)));
    kept.run(List.of(), numbers(0, 3));
  }
}
