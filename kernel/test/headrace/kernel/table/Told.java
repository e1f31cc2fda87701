package headrace.kernel.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** A table, as its changes tell it. Each change must begin with the row and the time in which the last one of its key ended. */
final class Told {
  private final Map<String, Change> last = new TreeMap<>();
  private final boolean times;

  Told() {
    this(true);
  }

  /** Without {@code times}, those of the rows before are not looked at. */
  Told(boolean times) {
    this.times = times;
  }

  void take(String key, Change change) {
    Change known = last.get(key);
    assertEquals(known == null ? "-" : Driven.text(known.after()), Driven.text(change.before()), "the row before, of " + key);
    if (known != null && times) assertEquals(known.time(), change.beforeTime(), "the time of the row before, of " + key);
    assertFalse(Change.same(change.before(), change.after()), "a change of " + key + " that changes nothing");
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
