package headrace.kernel.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.block.Change;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * A table, as its changes tell it. Each change must begin with the row and the time in which the
 * last one of its key ended.
 */
final class Emitted {
  private final Map<String, Change> last = new TreeMap<>();

  void take(String key, Change change) {
    Change known = last.get(key);
    byte[] before = known == null ? null : known.after();
    assertTrue(Change.same(before, change.before()), "the row before, of " + key);
    if (known != null)
      assertEquals(known.time(), change.beforeTime(), "the time of the row before, of " + key);
    boolean same = Change.same(change.before(), change.after());
    assertFalse(
        same && (known == null || known.time() == change.time()),
        "a change of " + key + " that changes nothing");
    if (change.after() == null) last.remove(key);
    else last.put(key, change);
  }

  Map<String, String> rows() {
    return rows(Driven::text);
  }

  <T> Map<String, T> rows(Function<byte[], T> reader) {
    Map<String, T> rows = new TreeMap<>();
    last.forEach((key, change) -> rows.put(key, reader.apply(change.after())));
    return rows;
  }
}
