package headrace.kernel.sink.postgres;

import headrace.kernel.sink.Cells;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;

/** Rows in the text format of PostgreSQL's COPY. */
final class CopyText {
  private final Shape shape;
  private final String destination;
  private final Writer[] writers;
  byte[] bytes = new byte[8 << 10];
  int size = 0;

  private interface Writer {
    void write(InternalRow row, int column);
  }

  CopyText(Shape shape, String destination) {
    this.shape = shape;
    this.destination = destination;
    this.writers =
        IntStream.range(0, shape.fields())
            .mapToObj(i -> writer(shape.of(i)))
            .toArray(Writer[]::new);
  }

  void add(long task, long sequence, boolean deleted, InternalRow row) {
    ascii(Long.toString(task));
    put('\t');
    ascii(Long.toString(sequence));
    put('\t');
    put(deleted ? 't' : 'f');
    for (int i = 0; i < writers.length; i++) {
      put('\t');
      if (row.isNullAt(i)) ascii("\\N");
      else writers[i].write(row, i);
    }
    put('\n');
  }

  private Writer writer(DataType type) {
    if (type instanceof StringType)
      return (row, i) -> escaped(row.getUTF8String(i).makeValid().getBytes(), i);
    if (type instanceof BinaryType) {
      return (row, i) -> {
        ascii("\\\\x");
        ascii(HexFormat.of().formatHex(row.getBinary(i)));
      };
    }
    if (type instanceof DateType)
      return (row, i) ->
          ascii(dated(Cells.date(new StringBuilder(), row.getInt(i)), row.getInt(i)));
    Cells.Text text = Cells.text(type);
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return (row, i) -> {
        StringBuilder time = Cells.time(row.getLong(i));
        if (type instanceof TimestampType) time.append('Z');
        ascii(dated(time, (int) Math.floorDiv(row.getLong(i), 86_400_000_000L)));
      };
    }
    if (Cells.nested(type)) return (row, i) -> json(text.of(row, i), i);
    return (row, i) -> ascii(text.of(row, i));
  }

  /** PostgreSQL writes years after 9999 without a sign, and those before 1 with their era. */
  private static String dated(StringBuilder text, int day) {
    if (Cells.common(day)) return text.toString();
    LocalDate date = LocalDate.ofEpochDay(day);
    String rest = text.substring(date.toString().length());
    String monthAndDay = date.toString().substring(date.toString().length() - 6);
    return date.getYear() > 0
        ? date.getYear() + monthAndDay + rest
        : "%04d".formatted(1 - date.getYear()) + monthAndDay + rest + " BC";
  }

  private void json(String text, int column) {
    // As an escape NUL passes for JSON, and jsonb refuses it all the same.
    for (int at = text.indexOf("\\u0000"); at >= 0; at = text.indexOf("\\u0000", at + 1)) {
      int before = at;
      while (before > 0 && text.charAt(before - 1) == '\\') before--;
      if ((at - before) % 2 == 0) throw nul(column);
    }
    escaped(text.getBytes(StandardCharsets.UTF_8), column);
  }

  private void escaped(byte[] text, int column) {
    room(2 * text.length);
    for (byte b : text) {
      switch (b) {
        case 0 -> throw nul(column);
        case '\\' -> escape('\\');
        case '\t' -> escape('t');
        case '\n' -> escape('n');
        case '\r' -> escape('r');
        default -> bytes[size++] = b;
      }
    }
  }

  private RefusedException nul(int column) {
    String name = shape.names().get(column);
    String fix =
        shape.of(column) instanceof StringType
            ? ": leave it out, " + name + "=\"replace(" + name + ", char(0), '')\""
            : "";
    return new RefusedException(
        "the column "
            + name
            + " of a row for "
            + destination
            + " has a NUL character, which PostgreSQL can't hold"
            + fix);
  }

  private void escape(char deadLetter) {
    bytes[size++] = '\\';
    bytes[size++] = (byte) deadLetter;
  }

  private void ascii(String text) {
    room(text.length());
    for (int i = 0; i < text.length(); i++) bytes[size++] = (byte) text.charAt(i);
  }

  private void put(char deadLetter) {
    room(1);
    bytes[size++] = (byte) deadLetter;
  }

  private void room(int more) {
    if (bytes.length - size < more)
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
  }
}
