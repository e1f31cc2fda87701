package headrace.kernel.json.token;

import java.nio.charset.StandardCharsets;

/**
 * A place in the bytes of one document: whitespace, punctuation, literals, and the skipping of
 * values that no column reads.
 */
public final class Cursor {
  static final int MAX_DEPTH = 512;
  public static final String OBJECT = "an object";
  public static final String ARRAY = "an array";

  private static final byte[] TRUE = ascii("true");
  private static final byte[] FALSE = ascii("false");
  private static final byte[] NULL = ascii("null");
  private static final byte[] NAN = ascii("NaN");
  private static final byte[] INFINITY = ascii("Infinity");
  private static final byte[] MINUS_INFINITY = ascii("-Infinity");

  public final Thread owner = Thread.currentThread();
  public byte[] bytes;
  public int pos;
  private int depth;

  // The last string, without its quotes: set by Text.scan.
  int textStart;
  int textEnd;
  public boolean escaped;

  // The last number: set by Numbers.scan. When `big`, the mantissa did not fit and the text must be
  // read again.
  public boolean negative;
  public boolean integral;
  public boolean big;
  public long mantissa;
  public int exponent;

  // Where the last date or time ended: set by Times.
  public int timeEnd;

  // The last date read, eight bytes and two, and its day: the next record's is most likely the
  // same.
  long dateHead;
  short dateTail;
  long dateDay = Times.NONE;

  public void reset(byte[] value) {
    bytes = value;
    depth = 0;
    boolean bom =
        value.length >= 3
            && value[0] == (byte) 0xEF
            && value[1] == (byte) 0xBB
            && value[2] == (byte) 0xBF;
    pos = bom ? 3 : 0;
  }

  /** Moves to the next byte that is not whitespace; -1 at the end. */
  public int next() {
    byte[] b = bytes;
    int p = pos;
    while (p < b.length) {
      int ch = b[p];
      if (ch > ' ' || (ch != ' ' && ch != '\n' && ch != '\r' && ch != '\t')) {
        pos = p;
        return ch & 0xFF;
      }
      p++;
    }
    pos = p;
    return -1;
  }

  /** Past the opening bracket; returns the next byte. */
  public int enter() {
    if (++depth > MAX_DEPTH) throw Refused.syntax("nested deeper than " + MAX_DEPTH);
    pos++;
    return next();
  }

  /** Past the closing bracket. */
  public void leave() {
    depth--;
    pos++;
  }

  /**
   * After a member: past the comma, and returns the next byte; or past the closing bracket, and
   * returns -1.
   */
  public int more(int close, String where) {
    int ch = next();
    if (ch == ',') {
      pos++;
      ch = next();
      if (ch < 0) throw unexpected("a value", where);
      return ch;
    }
    if (ch == close) {
      leave();
      return -1;
    }
    throw unexpected("',' or '" + (char) close + "'", where);
  }

  /** Past the colon; returns the next byte. */
  public int colon() {
    if (next() != ':') throw unexpected("':'", OBJECT);
    pos++;
    return next();
  }

  public boolean bool(int first) {
    word(first == 't' ? TRUE : FALSE);
    return first == 't';
  }

  public void nothing() {
    byte[] b = bytes;
    int p = pos;
    if (b.length - p >= 4 && b[p + 1] == 'u' && b[p + 2] == 'l' && b[p + 3] == 'l') pos = p + 4;
    else word(NULL);
  }

  /** NaN, Infinity or -Infinity, bare, as Python's json writes them. */
  public double special(int first) {
    word(first == 'N' ? NAN : first == 'I' ? INFINITY : MINUS_INFINITY);
    return first == 'N'
        ? Double.NaN
        : first == 'I' ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  public boolean atSpecial(int first) {
    return first == 'N'
        || first == 'I'
        || (first == '-' && pos + 1 < bytes.length && bytes[pos + 1] == 'I');
  }

  public static boolean startsNumber(int first) {
    return first == '-' || (first >= '0' && first <= '9');
  }

  private void word(byte[] word) {
    byte[] b = bytes;
    int start = pos;
    for (int i = 0; i < word.length; i++) {
      if (start + i >= b.length) throw truncated("a literal");
      if (b[start + i] != word[i])
        throw unexpected("'" + new String(word, StandardCharsets.US_ASCII) + "'", "a literal");
    }
    pos = start + word.length;
  }

  /** Checks and skips the value here. */
  public void skip(int first) {
    switch (first) {
      case '"' -> Text.scan(this);
      case '{' -> skipObject();
      case '[' -> skipArray();
      case 't', 'f' -> bool(first);
      case 'n' -> nothing();
      default -> {
        if (atSpecial(first)) special(first);
        else if (startsNumber(first)) Numbers.scan(this);
        else throw unexpected("a value", depth == 0 ? "the document" : "an object or array");
      }
    }
  }

  private void skipObject() {
    int ch = enter();
    if (ch == '}') {
      leave();
      return;
    }
    do {
      if (ch != '"') throw unexpected("a field name", OBJECT);
      Text.scan(this);
      skip(colon());
    } while ((ch = more('}', OBJECT)) >= 0);
  }

  private void skipArray() {
    int ch = enter();
    if (ch == ']') {
      leave();
      return;
    }
    do {
      skip(ch);
    } while ((ch = more(']', ARRAY)) >= 0);
  }

  /** The cause for a value at `start` that is JSON, but not of the type; or that is not JSON. */
  public Refused mismatch(int start, String expected, String note) {
    pos = start;
    int first = next();
    start = pos;
    skip(first);
    String found = new String(bytes, start, Math.min(pos - start, 400), StandardCharsets.UTF_8);
    String text = "expected " + expected + ", found " + kind(first) + " " + Refused.shorten(found);
    return Refused.type(note.isEmpty() ? text : text + " (" + note + ")");
  }

  public static String kind(int first) {
    return switch (first) {
      case '"' -> "string";
      case '{' -> "object";
      case '[' -> "array";
      case 't', 'f' -> "boolean";
      case 'n' -> "null";
      default -> "number";
    };
  }

  public Refused unexpected(String expected, String where) {
    if (pos >= bytes.length) return truncated(where);
    return Refused.syntax("not valid JSON at byte " + pos + ": expected " + expected);
  }

  Refused truncated(String where) {
    return Refused.syntax("truncated: ended at byte " + bytes.length + " inside " + where);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
