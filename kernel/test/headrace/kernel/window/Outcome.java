package headrace.kernel.window;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.block.Change;
import headrace.kernel.table.Rows;
import headrace.kernel.window.frame.Span;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/**
 * What was emitted, as text, one line a change: {@code k [0, 10) 2 [1, 2] @9}: the key, the window
 * in milliseconds, the results, the time; with {@code final}, or {@code gone}. Each change must
 * begin with the row and the time in which the last one of its window ended.
 */
final class Outcome {
  private final DataType[] types;
  private final boolean sessions;
  private final Map<String, Change> last = new HashMap<>();

  /** A session is known by its start. */
  Outcome(Functions functions, boolean sessions) {
    this.types = Results.types(functions);
    this.sessions = sessions;
  }

  List<String> texts(List<Change> changes) {
    List<String> texts = new ArrayList<>();
    for (Change change : changes) texts.add(text(change));
    return texts;
  }

  private String text(Change change) {
    byte[] both = change.after() == null ? change.before() : change.after();
    int length = Platform.getInt(both, Platform.BYTE_ARRAY_OFFSET);
    String key =
        (String) Rows.values(Arrays.copyOfRange(both, 5, 5 + length), DataTypes.StringType).get(0);
    List<Object> row = Rows.values(Arrays.copyOfRange(both, 5 + length, both.length), types);
    long start = (Long) row.get(0);
    long end = (Long) row.get(1);
    String window = key + start + (sessions ? "" : " " + end);
    Change known = change.after() == null ? last.remove(window) : last.put(window, change);
    assertArrayEquals(
        known == null ? null : known.after(), change.before(), "the row before, of " + window);
    assertEquals(
        known == null ? 0 : known.time(),
        change.beforeTime(),
        "the time of the row before, of " + window);
    return line(
        key,
        new Span(start, end),
        row.subList(3, row.size()),
        (Boolean) row.get(2),
        change.after() == null,
        change.time());
  }

  static String line(
      String key, Span span, List<Object> results, boolean last, boolean gone, long time) {
    String what = gone ? " gone" : last ? " final" : "";
    return key
        + " ["
        + millis(span.start())
        + ", "
        + millis(span.end())
        + ")"
        + what
        + " "
        + results
        + " @"
        + millis(time);
  }

  private static String millis(long micros) {
    return micros % 1000 == 0 ? "" + micros / 1000 : micros / 1000.0 + "";
  }
}
