package headrace.kernel.json.token;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Strings: scanned eight bytes at a time, checked as UTF-8 only when not ASCII, copied only when
 * escaped.
 */
public final class Text {
  static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH = 0x8080808080808080L;

  private Text() {}

  /** Past the string whose opening quote is here; leaves its place in the cursor. */
  public static void scan(Cursor c) {
    byte[] b = c.bytes;
    int start = c.pos + 1;
    int p = start;
    boolean ascii = true;
    boolean escaped = false;
    while (true) {
      // To the next byte that is a quote, a backslash, a control character or not ASCII.
      while (p + 8 <= b.length) {
        long word = (long) WORDS.get(b, p);
        long stop =
            (zeros(word ^ (ONES * '"'))
                    | zeros(word ^ (ONES * '\\'))
                    | ((word - ONES * ' ') & ~word)
                    | word)
                & HIGH;
        if (stop != 0) {
          p += Long.numberOfTrailingZeros(stop) >>> 3;
          break;
        }
        p += 8;
      }
      if (p >= b.length) {
        c.pos = p;
        throw c.truncated("a string");
      }
      int ch = b[p];
      if (ch == '"') break;
      if (ch < 0) {
        ascii = false;
        p++;
        while (p < b.length && b[p] < 0) p++;
      } else if (ch == '\\') {
        escaped = true;
        p = escape(c, p);
      } else if (ch < ' ') {
        c.pos = p;
        throw c.unexpected("no raw control character in a string", "a string");
      } else {
        p++;
      }
    }
    if (!ascii) checkUtf8(b, start, p);
    c.textStart = start;
    c.textEnd = p;
    c.escaped = escaped;
    c.pos = p + 1;
  }

  private static long zeros(long word) {
    return (word - ONES) & ~word;
  }

  private static int escape(Cursor c, int p) {
    byte[] b = c.bytes;
    if (p + 1 >= b.length) throw c.truncated("a string");
    switch (b[p + 1]) {
      case '"', '\\', '/', 'b', 'f', 'n', 'r', 't' -> {
        return p + 2;
      }
      case 'u' -> {
        for (int i = p + 2; i < p + 6; i++) {
          if (i >= b.length) throw c.truncated("a string");
          if (Character.digit(b[i], 16) < 0) {
            c.pos = i;
            throw c.unexpected("four hex digits after \\u", "a string");
          }
        }
        return p + 6;
      }
      default -> {
        c.pos = p + 1;
        throw c.unexpected("an escape: one of \"\\/bfnrtu", "a string");
      }
    }
  }

  /** The string last scanned. Shares the document's bytes unless it has escapes. */
  public static UTF8String string(Cursor c) {
    if (!c.escaped) return UTF8String.fromBytes(c.bytes, c.textStart, c.textEnd - c.textStart);
    return UTF8String.fromBytes(unescaped(c));
  }

  /** The bytes of the string last scanned, without escapes. */
  public static byte[] plain(Cursor c) {
    return c.escaped ? unescaped(c) : Arrays.copyOfRange(c.bytes, c.textStart, c.textEnd);
  }

  private static byte[] unescaped(Cursor c) {
    byte[] b = c.bytes;
    byte[] out =
        new byte[c.textEnd - c.textStart]; // an escape is never shorter than what it stands for
    int n = 0;
    for (int p = c.textStart; p < c.textEnd; ) {
      byte ch = b[p++];
      if (ch != '\\') {
        out[n++] = ch;
        continue;
      }
      ch = b[p++];
      if (ch != 'u') {
        out[n++] =
            switch (ch) {
              case 'b' -> '\b';
              case 'f' -> '\f';
              case 'n' -> '\n';
              case 'r' -> '\r';
              case 't' -> '\t';
              default -> ch;
            };
        continue;
      }
      int code = hex(b, p);
      p += 4;
      if (code >= 0xD800 && code <= 0xDFFF) {
        int low =
            code < 0xDC00 && p + 6 <= c.textEnd && b[p] == '\\' && b[p + 1] == 'u'
                ? hex(b, p + 2)
                : 0;
        if (low >= 0xDC00 && low <= 0xDFFF) {
          p += 6;
          code = Character.toCodePoint((char) code, (char) low);
        } else {
          code = 0xFFFD;
        }
      }
      n = encode(out, n, code);
    }
    return Arrays.copyOf(out, n);
  }

  private static int encode(byte[] out, int n, int code) {
    if (code < 0x80) {
      out[n++] = (byte) code;
    } else if (code < 0x800) {
      out[n++] = (byte) (0xC0 | code >> 6);
      out[n++] = (byte) (0x80 | code & 0x3F);
    } else {
      if (code < 0x10000) {
        out[n++] = (byte) (0xE0 | code >> 12);
      } else {
        out[n++] = (byte) (0xF0 | code >> 18);
        out[n++] = (byte) (0x80 | code >> 12 & 0x3F);
      }
      out[n++] = (byte) (0x80 | code >> 6 & 0x3F);
      out[n++] = (byte) (0x80 | code & 0x3F);
    }
    return n;
  }

  private static int hex(byte[] b, int p) {
    int code = 0;
    for (int i = p; i < p + 4; i++) code = code << 4 | Character.digit(b[i], 16);
    return code;
  }

  private static void checkUtf8(byte[] b, int from, int to) {
    int p = from;
    while (p < to) {
      int lead = b[p];
      if (lead >= 0) {
        p++;
        continue;
      }
      lead &= 0xFF;
      int more =
          lead >= 0xC2 && lead <= 0xDF
              ? 1
              : lead >= 0xE0 && lead <= 0xEF ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
      if (more == 0 || p + more >= to) throw invalid(p);
      int second = b[p + 1] & 0xFF;
      int low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80; // no overlong forms
      int high =
          lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF; // no surrogates, nothing above U+10FFFF
      if (second < low || second > high) throw invalid(p);
      for (int i = 2; i <= more; i++) {
        if ((b[p + i] & 0xC0) != 0x80) throw invalid(p);
      }
      p += more + 1;
    }
  }

  private static Refused invalid(int at) {
    return Refused.syntax("invalid UTF-8 at byte " + at);
  }
}
