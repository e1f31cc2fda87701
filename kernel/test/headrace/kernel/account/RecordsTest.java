package headrace.kernel.account;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.account.Records.Stretch;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RecordsTest {
  /** Of two partitions, in stretches that overlap, with offsets beyond 32 bits. */
  private static Set<String> fill(Records records, Random chance) {
    Set<String> all = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      String partition = "t/" + chance.nextInt(2);
      long from = (1L << 32) - 500 + chance.nextInt(1000);
      long until = from + 1 + (chance.nextBoolean() ? 0 : chance.nextInt(20));
      records.add(new Stretch(partition, from, until));
      for (long offset = from; offset < until; offset++) all.add(partition + "/" + offset);
    }
    return all;
  }

  @Test
  void aRecordCountsOnceWhateverIsAddedOrMergedTwice() {
    Random chance = new Random(7);
    Records one = new Records();
    Records other = new Records();
    Set<String> ones = fill(one, chance);
    Set<String> others = fill(other, chance);
    assertEquals(ones.size(), one.value());
    Set<String> both = new HashSet<>(ones);
    both.retainAll(others);
    assertEquals(both.size(), one.in(other).value());
    Set<String> rest = new HashSet<>(ones);
    rest.removeAll(others);
    assertEquals(rest.size(), one.without(other).value());
    assertEquals(ones.size(), one.value(), "what it is compared with leaves it as it is");
    one.merge(other);
    one.merge(other);
    one.merge(one);
    ones.addAll(others);
    assertEquals(ones.size(), one.value());
  }

  /** Which a condition makes that most rows meet; it has to stay cheap. */
  @Test
  void aMillionStretchesWithGapsAreAllThere() {
    Records records = new Records();
    for (long from = 0; from < 10_000_000; from += 10)
      records.add(new Stretch("t/0", from + 1, from + 10));
    assertEquals(9_000_000, records.value());
  }

  @Test
  void aCopyIsItsOwn() {
    Records records = new Records();
    assertTrue(records.isZero());
    records.add(new Stretch("t/0", 3, 5));
    Records copy = (Records) records.copy();
    copy.add(new Stretch("t/0", 5, 6));
    assertEquals(2, records.value());
    assertEquals(3, copy.value());
    records.reset();
    assertTrue(records.isZero());
    assertEquals(3, copy.value());
  }
}
