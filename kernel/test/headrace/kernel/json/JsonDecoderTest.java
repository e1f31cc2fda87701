package headrace.kernel.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.BadRecordException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class JsonDecoderTest {
  private static final StructType SCHEMA =
      StructType.fromDDL("symbol string not null, price double, tags array<string>");

  private static InternalRow decode(JsonDecoder decoder, String json) {
    return decoder.decode(
        json.getBytes(StandardCharsets.UTF_8), UTF8String.fromString("trades"), 3, 17);
  }

  @Test
  void aRecordBecomesARowAndNoCause() {
    String json =
        "{\"price\": 1.5, \"other\": [{}], \"symbol\": \"na\\u00efve\", \"tags\": [\"a\", null]}";
    InternalRow row = decode(JsonDecoder.of(SCHEMA, false), json);
    assertEquals("naïve", row.getString(0));
    assertEquals(1.5, row.getDouble(1));
    assertEquals(2, row.getArray(2).numElements());
    assertTrue(row.getArray(2).isNullAt(1));
    assertTrue(row.isNullAt(3));
  }

  @Test
  void aBadRecordIsAllNullButForItsCause() {
    InternalRow row =
        decode(JsonDecoder.of(SCHEMA, false), "{\"symbol\": \"A\", \"price\": \"much\"}");
    assertTrue(row.isNullAt(0) && row.isNullAt(1) && row.isNullAt(2));
    assertTrue(row.getString(3).startsWith("field price: "), row.getString(3));
  }

  @Test
  void underFailTheExceptionNamesThePlace() {
    JsonDecoder decoder = JsonDecoder.of(SCHEMA, true);
    var thrown = assertThrows(BadRecordException.class, () -> decode(decoder, "{\"price\": 1}"));
    assertEquals(
        "HEADRACE_BAD_RECORD topic=trades partition=3 offset=17 cause=field symbol: missing or"
            + " null, but required",
        thrown.getMessage());
  }

  @Test
  void aRowOutlivesTheNextRecord() {
    JsonDecoder decoder = JsonDecoder.of(SCHEMA, false);
    InternalRow first = decode(decoder, "{\"symbol\": \"first\", \"tags\": [\"one\"]}");
    decode(decoder, "{\"symbol\": \"other\", \"tags\": [\"two\"]}");
    assertEquals("first", first.getString(0));
    assertEquals("one", first.getArray(2).getUTF8String(0).toString());
  }

  @Test
  void aDecoderSentToAnExecutorDecodes() throws Exception {
    JsonDecoder sent = JsonDecoder.of(SCHEMA, false);
    var bytes = new ByteArrayOutputStream();
    try (var out = new ObjectOutputStream(bytes)) {
      out.writeObject(sent);
    }
    JsonDecoder received;
    try (var in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      received = (JsonDecoder) in.readObject();
    }
    assertNotSame(sent, received);
    assertEquals(sent, received);
    assertEquals("A", decode(received, "{\"symbol\": \"A\"}").getString(0));
  }

  @Test
  void tasksOfOneProcessShareADecoder() {
    JsonDecoder decoder = JsonDecoder.of(SCHEMA, true);
    IntStream.range(0, 20_000)
        .parallel()
        .forEach(
            i -> {
              String symbol = "S" + i;
              assertEquals(
                  symbol,
                  decode(decoder, "{\"symbol\": \"" + symbol + "\", \"price\": " + i + "}")
                      .getString(0));
            });
  }
}
