package headrace.kernel.table;

import static headrace.kernel.table.Driven.upsert;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class HistoryTest {
  private static final long NO_VERSION = Block.NO_VERSION;

  private static History of(Change... changes) {
    History history = new History();
    for (Change change : changes) history.add(change);
    return history;
  }

  private static String at(History history, long time) {
    return Driven.text(history.at(time).row());
  }

  @Test
  void aVersionIsValidFromItsTimeToThatOfTheNext() {
    History history =
        of(upsert(1, 20, 1, 1, "b"), upsert(1, 10, 0, 0, "a"), upsert(1, 30, NO_VERSION, 2, null));
    assertEquals("-", at(history, 9));
    assertEquals("a", at(history, 10));
    assertEquals("a", at(history, 19));
    assertEquals("b", at(history, 20));
    assertEquals("-", at(history, 30));
    assertEquals(1, history.at(25).version());
    assertEquals(NO_VERSION, history.at(9).version());
  }

  @Test
  void atTheSameTimeTheVersionDecidesThenTheLog() {
    assertEquals("b", at(of(upsert(1, 10, 2, 0, "b"), upsert(1, 10, 1, 1, "a")), 10));
    assertEquals("b", at(of(upsert(1, 10, 1, 1, "b"), upsert(1, 10, 1, 0, "a")), 10));
    assertEquals("-", at(of(upsert(1, 10, 9, 0, "a"), upsert(1, 10, NO_VERSION, 1, null)), 10));
    assertEquals("a", at(of(upsert(1, 10, NO_VERSION, 0, null), upsert(1, 10, 9, 1, "a")), 10));
  }

  @Test
  void theSameChangeTwiceIsOne() {
    History history = of(upsert(1, 10, 1, 1, "a"));
    int size = history.write().length;
    history.add(upsert(1, 10, 1, 1, "a"));
    assertEquals(size, history.write().length);
  }

  @Test
  void whatWasValidStaysWhenWhatWasBeforeIsForgotten() {
    History history =
        of(upsert(1, 10, 0, 0, "a"), upsert(1, 20, 1, 1, "b"), upsert(1, 30, 2, 2, "c"));
    history.forget(19);
    assertEquals("a", at(history, 19));
    history.forget(20);
    assertEquals("-", at(history, 19));
    assertEquals("b", at(history, 20));
    history.forget(1000);
    assertEquals("c", at(history, 30));
    history.add(upsert(1, 40, NO_VERSION, 3, null));
    history.forget(39);
    assertEquals("c", at(history, 39));
    history.forget(40);
    assertEquals(1, history.write().length, "a deleted row leaves nothing");
    assertNull(history.at(40).row());
  }

  @Test
  void whatWasWrittenIsRead() {
    Chance.times(
        200,
        chance -> {
          List<Change> changes = new ArrayList<>();
          for (int i = 0; i < chance.nextInt(10); i++) {
            String row = Chance.one(chance, null, "", "x", "long".repeat(50));
            changes.add(upsert(1, chance.nextInt(20) - 5, i, i, row));
          }
          History history = of(changes.toArray(Change[]::new));
          Collections.shuffle(changes, chance);
          History other = History.read(of(changes.toArray(Change[]::new)).write());
          for (int time = -6; time < 21; time++) {
            assertEquals(history.at(time).version(), other.at(time).version());
            assertEquals(at(history, time), at(other, time));
          }
        });
  }
}
