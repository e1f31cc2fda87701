package headrace.kernel.sink.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.SerializationUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

public class CopyTextTest {
  /** As it comes to a task. */
  public static <T> T sent(T thing) {
    return SerializationUtils.deserialize(SerializationUtils.serialize((Serializable) thing));
  }

  private static String copied(String type, Object cell) {
    CopyText text =
        new CopyText(Shape.of(StructType.fromDDL("c " + type).json(), List.of()), "the table t");
    InternalRow row =
        new GenericInternalRow(
            new Object[] {cell instanceof String same ? UTF8String.fromString(same) : cell});
    text.add(5, 7, false, row);
    String line = new String(text.bytes, 0, text.size, StandardCharsets.UTF_8);
    assertEquals("5\t7\tf\t", line.substring(0, 6));
    return line.substring(6, line.length() - 1);
  }

  @Test
  void whatMeansSomethingToCopyIsEscaped() {
    assertEquals("a\\tb\\nc\\rd\\\\e", copied("string", "a\tb\nc\rd\\e"));
    assertEquals("\\\\N", copied("string", "\\N"));
    assertEquals("\\N", copied("string", null));
    assertEquals("", copied("string", ""));
    assertEquals("\\\\x00ff", copied("binary", new byte[] {0, -1}));
  }

  @Test
  void bytesThatAreNoTextBecomeTheSignForThat() {
    CopyText text =
        new CopyText(Shape.of(StructType.fromDDL("c string").json(), List.of()), "the table t");
    text.add(
        0,
        0,
        true,
        new GenericInternalRow(new Object[] {UTF8String.fromBytes(new byte[] {'a', (byte) 0xff})}));
    assertEquals(
        "0\t0\tt\ta\uFFFD\n", new String(text.bytes, 0, text.size, StandardCharsets.UTF_8));
  }

  @Test
  void aNulIsRefusedByTheNameOfItsColumn() {
    RefusedException refused = assertThrows(RefusedException.class, () -> copied("string", "a\0"));
    assertEquals(
        "the column c of a row for the table t has a NUL character, which PostgreSQL can't hold: "
            + "leave it out, c=\"replace(c, char(0), '')\"",
        refused.getMessage());
  }

  @Test
  void timesAreAsPostgresReadsThem() {
    assertEquals("2024-02-29T12:34:56.000001Z", copied("timestamp", 1_709_210_096_000_001L));
    assertEquals("1969-12-31T23:59:59.999999", copied("timestamp_ntz", -1L));
    assertEquals("10000-01-01", copied("date", (int) LocalDate.of(10_000, 1, 1).toEpochDay()));
    assertEquals("0001-12-31 BC", copied("date", (int) LocalDate.of(0, 12, 31).toEpochDay()));
    assertEquals("0005-06-07 BC", copied("date", (int) LocalDate.of(-4, 6, 7).toEpochDay()));
  }

  @Test
  void noTextOfAServerShowsAPassword() {
    PostgresServer server =
        new PostgresServer("db", 5432, "market", Map.of("user", "ada"), "sesame");
    assertEquals("PostgreSQL at db:5432/market", server.toString());
    PostgresTaskWriters writers =
        new PostgresTaskWriters(
            server, "the table t", "COPY", Shape.of(StructType.fromDDL("c int").json(), List.of()));
    assertFalse(writers.toString().contains("sesame"));
    assertEquals("PostgreSQL at db:5432/market", sent(writers).server().toString());
  }
}
