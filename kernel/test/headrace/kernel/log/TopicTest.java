package headrace.kernel.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class TopicTest {
  private final Topic topic = new Topic(2);

  private void append(int partition, long micros) {
    topic.append(partition, micros, null, null, null, -1, -1);
  }

  private static List<Long> micros(List<LogRecord> records) {
    return records.stream().map(LogRecord::micros).toList();
  }

  @Test
  void offsetsCountInThePartitionAndArrivalsInTheTopic() {
    append(1, 10);
    append(0, 11);
    append(1, 12);
    assertEquals(List.of(10L, 12L), micros(topic.slice(1, 0, 2)));
    assertEquals(List.of(0L, 1L), topic.slice(1, 0, 2).stream().map(LogRecord::offset).toList());
    assertEquals(List.of(11L, 12L), micros(topic.arrivals(1)));
    assertEquals(List.of(), topic.arrivals(9));
  }

  @Test
  void aCutMarksTheEndOnlyWhenSomethingCame() {
    assertFalse(topic.cut(1));
    append(0, 10);
    assertTrue(topic.hasUncut());
    assertTrue(topic.cut(2));
    assertFalse(topic.hasUncut());
    assertFalse(topic.cut(3));
    append(1, 11);
    assertTrue(topic.cut(4));
    assertArrayEquals(new long[] {0, 0}, topic.endAt(1));
    assertArrayEquals(new long[] {1, 0}, topic.endAt(3));
    assertArrayEquals(new long[] {1, 1}, topic.endAt(9));
    assertEquals(2, topic.cutAfter(0));
    assertEquals(4, topic.cutAfter(2));
    assertNull(topic.cutAfter(4));
  }

  @Test
  void aPartitionThatIsNotThereIsRefused() {
    var refused = assertThrows(IllegalArgumentException.class, () -> append(2, 10));
    assertEquals("no partition 2: the topic has 2", refused.getMessage());
  }
}
