package headrace.kernel.table;

import static headrace.kernel.table.TableJoin.Side.CHANGES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import headrace.kernel.block.Change;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * State that another kernel wrote, in a format that this one does not know, is refused, not
 * misread.
 */
class StateFormatTest {
  private static final byte[] KEY = Driven.key("k");
  private static final int KNOWN = 1;

  /** Of events that wait. */
  private static final int WAITING = 2;

  private static byte[] later(byte[] state) {
    return with(state, KNOWN, KNOWN + 1);
  }

  private static byte[] with(byte[] state, int known, int format) {
    assertEquals(known, state[0], "the format comes first");
    byte[] other = state.clone();
    other[0] = (byte) format;
    return other;
  }

  private static void refused(Runnable batch) {
    refused(batch, KNOWN + 1, KNOWN);
  }

  private static void refused(Runnable batch, int found, int known) {
    StateFormatException refused = assertThrows(StateFormatException.class, batch::run);
    assertEquals("HEADRACE_STATE_FORMAT found=" + found + " known=" + known, refused.getMessage());
  }

  /** What the operator keeps in a value after a batch, as a later kernel would have written it. */
  private static void refusesValue(Driven operator, String state, Change change) {
    operator.feed(KEY, change);
    operator.keep(state, KEY, later(operator.value(state, "k")));
    refused(() -> operator.feed(KEY, change));
  }

  private static Change upsert(int side) {
    return Driven.upsert(side, 1, 1, 1, "a");
  }

  @Test
  void ofNewest() {
    refusesValue(Driven.of(new Newest(true, false, StepSize.RECORD)), "newest", upsert(0));
  }

  @Test
  void ofLookup() {
    Driven lookup = Driven.of(new Lookup(true, true, true));
    refusesValue(lookup, "newest", upsert(1));
    refused(() -> lookup.feed(KEY, upsert(0)));
  }

  @Test
  void ofAsOf() {
    Driven asOf = Driven.inEventTime(new AsOf(true, 1000, true, false));
    refusesValue(asOf, "versions", upsert(1));
    refused(() -> asOf.feed(KEY, upsert(0)));
    Driven waits = Driven.inEventTime(new AsOf(true, 1000, true, false));
    waits.feed(KEY, upsert(0), upsert(1));
    waits.keep("versions", KEY, later(waits.value("versions", "k")));
    refused(() -> waits.watermark(10));
    for (int other : new int[] {WAITING - 1, WAITING + 1}) {
      Driven events = Driven.inEventTime(new AsOf(true, 1000, true, false));
      events.feed(KEY, upsert(0));
      events.keepList("waiting", KEY, with(events.list("waiting", "k").get(0), WAITING, other));
      refused(() -> events.feed(KEY, upsert(1)), other, WAITING);
      refused(() -> events.watermark(10), other, WAITING);
    }
  }

  @Test
  void ofSettle() {
    refusesValue(Driven.of(new Settle(StepSize.BATCH)), "rows", upsert(0));
  }

  @Test
  void ofTableAggregate() {
    byte[] row = Functions.few(new java.util.Random(0)).bytes();
    Change change = new Change((byte) 0, 1, 0, 1, 0, null, row);
    refusesValue(
        Driven.of(new TableAggregate(Functions.all(), false, StepSize.BATCH)), "group", change);
    refusesValue(
        Driven.of(new TableAggregate(Functions.ordered(), true, StepSize.BATCH)), "group", change);
  }

  @Test
  void ofTableJoin() {
    byte[] packed = Rows.of(Rows.of("a"), Rows.of("a", 1)).bytes();
    for (TableJoin.By by : TableJoin.By.values()) {
      for (int side = 0; side < 2; side++) {
        String state = side == 0 ? "lefts" : "rights";
        Driven join =
            Driven.of(
                new TableJoin(true, by == TableJoin.By.BOTH, by, CHANGES, CHANGES, StepSize.BATCH));
        Change change = new Change((byte) side, 1, 0, 1, 1, null, packed);
        Change other = new Change((byte) (1 - side), 1, 0, 1, 1, null, packed);
        join.feed(KEY, change);
        Map<String, byte[]> kept = join.map(state, KEY);
        String own = kept.keySet().iterator().next();
        join.keepMap(state, KEY, Map.of(own, later(kept.get(own))));
        for (Change next : List.of(change, other)) refused(() -> join.feed(KEY, next));
      }
    }
  }

  @Test
  void andWhatThisKernelWroteIsRead() {
    StoredRow kept = new StoredRow(5, 6, new byte[] {7, 8});
    Consumer<StoredRow> same =
        read -> {
          assertEquals(5, read.version());
          assertEquals(6, read.time());
        };
    same.accept(StoredRow.read(kept.write()));
    assertEquals(2, StoredRow.read(kept.write()).row().length);
    same.accept(StoredRow.read(new StoredRow(5, 6, null).write()));
    assertEquals(false, StoredRow.read(new StoredRow(5, 6, null).write()).present());
    assertEquals(0, StoredRow.read(new StoredRow(5, 6, new byte[0]).write()).row().length);
    assertEquals(StoredRow.NONE, StoredRow.read(null));
  }
}
