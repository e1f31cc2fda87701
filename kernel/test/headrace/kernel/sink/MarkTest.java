package headrace.kernel.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MarkTest {
  private static final Batch BATCH = new Batch("checkpoint", 7, "abc");

  private static boolean covers(Mark mark) {
    return Mark.covers(mark, BATCH, "a destination");
  }

  private static String refusal(Mark mark) {
    return assertThrows(MarkException.class, () -> covers(mark)).getMessage();
  }

  @Test
  void anEndTakesWhatItDoesNotHave() {
    assertFalse(covers(null));
    assertFalse(covers(new Mark("checkpoint", 6, "other records", 10)));
    assertFalse(covers(new Mark("checkpoint", 2, "after batches without rows", 10)));
  }

  @Test
  void andPassesOverWhatItHas() {
    assertTrue(covers(new Mark("checkpoint", 7, "abc", 10)));
  }

  @Test
  void whatDoesNotGoOnFromThereIsRefused() {
    assertEquals(
        "HEADRACE_MARK kind=other has=6 batch=7 end=a destination",
        refusal(new Mark("another", 6, "abc", 1)));
    assertEquals(
        "HEADRACE_MARK kind=back has=8 batch=7 end=a destination",
        refusal(new Mark("checkpoint", 8, "abc", 1)));
    assertEquals(
        "HEADRACE_MARK kind=changed has=7 batch=7 end=a destination",
        refusal(new Mark("checkpoint", 7, "abd", 1)));
  }

  @Test
  void aMarkIsReadAsItWasWritten() {
    Mark mark = BATCH.done(42);
    assertEquals(mark, Mark.parse(mark.text()));
  }
}
