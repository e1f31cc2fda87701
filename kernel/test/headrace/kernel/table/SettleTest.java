package headrace.kernel.table;

import static headrace.kernel.table.Driven.change;
import static headrace.kernel.table.Driven.texts;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SettleTest {
  private static Driven settle() {
    Driven settle = Driven.of(new Settle(StepSize.BATCH));
    assertEquals(List.of("- > a@1 v1"), texts(settle.feed("k", change(null, 0, "a", 1))));
    return settle;
  }

  private static final Change DELETE = change("a", 1, null, 2);
  private static final Change INSERT = change(null, 0, "b", 3);

  @Test
  void aDeleteAndAnInsertInEitherOrderAreOneUpdate() {
    assertEquals(List.of("a@1 > b@3 v3"), texts(settle().feed("k", DELETE, INSERT)));
    assertEquals(List.of("a@1 > b@3 v3"), texts(settle().feed("k", INSERT, DELETE)));
  }

  @Test
  void aRowThatGoesAndComesBackAsItWasIsNoChange() {
    for (var changes :
        List.of(
            List.of(DELETE, change(null, 0, "a", 5)), List.of(change(null, 0, "a", 5), DELETE))) {
      Driven settle = settle();
      assertEquals(List.of(), settle.feed("k", changes.toArray(Change[]::new)));
      // It was emitted with its first time, so it goes with that.
      assertEquals(List.of("a@1 > -@6"), texts(settle.feed("k", change("a", 5, null, 6))));
      assertNull(settle.value("rows", "k"));
    }
  }

  @Test
  void whatComesAndGoesInABatchIsNotTold() {
    for (boolean turned : new boolean[] {false, true}) {
      Driven settle = Driven.of(new Settle(StepSize.BATCH));
      Change come = change(null, 0, "a", 1);
      Change go = change("a", 1, null, 2);
      assertEquals(List.of(), settle.feed("k", turned ? go : come, turned ? come : go));
      assertNull(settle.value("rows", "k"));
    }
  }

  @Test
  void anInsertWhoseDeleteComesInALaterBatchReplacesTheRow() {
    Driven settle = settle();
    assertEquals(List.of("a@1 > b@3 v3"), texts(settle.feed("k", INSERT)));
    assertEquals(List.of(), settle.feed("k", DELETE));
    assertEquals(List.of("b@3 > -@4"), texts(settle.feed("k", change("b", 3, null, 4))));
    assertNull(settle.value("rows", "k"));
  }

  @Test
  void aDeleteWhoseInsertComesInALaterBatchTakesTheRowAway() {
    Driven settle = settle();
    assertEquals(List.of("a@1 > -@2"), texts(settle.feed("k", DELETE)));
    assertEquals(List.of("- > b@3 v3"), texts(settle.feed("k", INSERT)));
  }

  @Test
  void aDeleteOfWhatIsNotYetThereIsRemembered() {
    Driven settle = settle();
    assertEquals(List.of(), settle.feed("k", change("b", 3, null, 4)));
    assertEquals(List.of(), settle.feed("k", INSERT));
    assertEquals(List.of("a@1 > -@2"), texts(settle.feed("k", DELETE)));
    assertNull(settle.value("rows", "k"));
    settle.feed("l", change("b", 3, null, 4));
    assertNotNull(settle.value("rows", "l"));
    assertEquals(List.of(), settle.feed("l", INSERT));
    assertNull(settle.value("rows", "l"));
  }

  @Test
  void ofTwoRowsTheOneThatStaysIsToldAgainWhenTheOtherGoes() {
    Driven settle = settle();
    settle.feed("k", INSERT);
    assertEquals(List.of("b@3 > a@1 v1"), texts(settle.feed("k", change("b", 3, null, 4))));
  }

  @Test
  void updatesOfARowInOnePlacePassThrough() {
    Driven settle = settle();
    assertEquals(List.of("a@1 > b@2 v2"), texts(settle.feed("k", change("a", 1, "b", 2))));
    assertEquals(List.of("b@2 > -@3"), texts(settle.feed("k", change("b", 2, null, 3))));
  }

  /**
   * A row that moves from place to place, as the places tell it: nothing says which of them comes
   * first.
   */
  @Test
  void inWhateverOrderThePlacesTellTheEndIsTheRow() {
    Chance.times(
        500,
        chance -> {
          Driven settle = Driven.of(new Settle(StepSize.BATCH));
          Emitted emitted = new Emitted();
          String row = null;
          long since = 0;
          for (long time = 1, batch = 0; batch < 8; batch++) {
            List<Change> changes = new ArrayList<>();
            for (int left = 1 + chance.nextInt(5); left > 0; left--, time++) {
              String next = chance.nextInt(4) == 0 ? null : Chance.one(chance, "a", "b", "c");
              if (Change.same(Driven.bytes(row), Driven.bytes(next))) continue;
              if (row != null && next != null && chance.nextBoolean()) {
                changes.add(change(row, since, next, time));
              } else {
                if (row != null) changes.add(change(row, since, null, time));
                if (next != null) changes.add(change(null, 0, next, time));
              }
              row = next;
              since = time;
            }
            Collections.shuffle(changes, chance);
            if (changes.isEmpty()) continue;
            for (Change change : settle.feed(Driven.key("k"), changes, chance))
              emitted.take("k", change);
            assertEquals(row == null ? Map.of() : Map.of("k", row), emitted.rows());
          }
        });
  }
}
