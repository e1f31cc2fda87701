package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Digits;
import headrace.kernel.json.token.Numbers;
import headrace.kernel.json.token.Text;
import headrace.kernel.json.token.Times;

/** date, timestamp, timestamp_ntz and time: ISO text; all but the last also a number since 1970. */
final class TimeReader extends BitsReader {
  enum Kind {
    DATE("date"),
    TIMESTAMP("timestamp"),
    TIMESTAMP_NTZ("timestamp_ntz"),
    TIME("time");

    private final String type;

    Kind(String type) {
      this.type = type;
    }
  }

  private final Kind kind;
  private final long unit;

  /** A time is cut to so many digits; the others ignore them. */
  TimeReader(Kind kind, int digits) {
    this.kind = kind;
    this.unit = (long) Math.pow(10, 9 - digits);
  }

  @Override
  long bits(Cursor c, int first) {
    int start = c.pos;
    if (first == '"') {
      byte[] b = c.bytes;
      long value = parse(c, b, start + 1, b.length);
      if (value != Times.NONE && c.timeEnd < b.length && b[c.timeEnd] == '"') {
        c.pos = c.timeEnd + 1;
        return value;
      }
      return escaped(c, start);
    }
    if (kind == Kind.TIME || !Cursor.startsNumber(first) || c.atSpecial(first))
      throw c.mismatch(start, kind.type, "");
    return kind == Kind.DATE
        ? Numbers.whole(c, Times.MIN_DAY, Times.MAX_DAY, kind.type)
        : epoch(c, start);
  }

  private long parse(Cursor c, byte[] b, int from, int to) {
    return switch (kind) {
      case DATE -> Times.day(c, b, from, to);
      case TIMESTAMP -> Times.instant(c, b, from, to, true);
      case TIMESTAMP_NTZ -> Times.instant(c, b, from, to, false);
      case TIME -> {
        long nanos = Times.timeOfDay(c, b, from, to);
        yield nanos == Times.NONE ? nanos : nanos - nanos % unit;
      }
    };
  }

  private long escaped(Cursor c, int start) {
    Text.scan(c);
    if (c.escaped) {
      int end = c.pos;
      byte[] text = Text.plain(c);
      long value = parse(c, text, 0, text.length);
      if (value != Times.NONE && c.timeEnd == text.length) {
        c.pos = end;
        return value;
      }
    }
    throw c.mismatch(start, kind.type, "");
  }

  private long epoch(Cursor c, int start) {
    Numbers.scan(c);
    if (c.integral && !c.big) {
      long n = c.mantissa;
      long micros = n < 100_000_000_000L ? n * 1_000_000 : n < 100_000_000_000_000L ? n * 1000 : n;
      if (n >= 100_000_000_000_000_000L) micros = c.negative ? (n + 999) / 1000 : n / 1000;
      return inRange(c, start, c.negative ? -micros : micros);
    }
    Long micros = Digits.of(c.bytes, start, c.pos).epochMicros();
    if (micros == null) throw c.mismatch(start, kind.type, "out of range");
    return inRange(c, start, micros);
  }

  private long inRange(Cursor c, int start, long micros) {
    if (micros < Times.MIN_MICROS || micros > Times.MAX_MICROS)
      throw c.mismatch(start, kind.type, "out of range");
    return micros;
  }

  @Override
  Object box(long bits) {
    return kind == Kind.DATE ? (Object) (int) bits : (Object) bits;
  }
}
