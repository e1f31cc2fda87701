package headrace.kernel.json.token;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Finds a struct's fields by their UTF-8 names: the one expected next by comparing words, any other
 * in a small hash table.
 */
public final class Names {
  private final byte[][] plain;
  private final byte[][] quoted; // "name": as most writers put it
  private final int[] table;

  public Names(String[] names) {
    int size = Integer.highestOneBit(Math.max(4, names.length * 4)) - 1;
    plain = new byte[names.length][];
    quoted = new byte[names.length][];
    table = new int[size + 1];
    Arrays.fill(table, -1);
    for (int i = 0; i < names.length; i++) {
      plain[i] = names[i].getBytes(StandardCharsets.UTF_8);
      quoted[i] = ("\"" + names[i] + "\":").getBytes(StandardCharsets.UTF_8);
      int at = hash(plain[i], 0, plain[i].length) & size;
      while (table[at] >= 0) at = at + 1 & size;
      table[at] = i;
    }
  }

  /** Past the name and its colon when it is the expected one in its plainest form. */
  public boolean next(Cursor c, int expected) {
    if (expected >= quoted.length) return false;
    byte[] name = quoted[expected];
    byte[] b = c.bytes;
    int p = c.pos;
    int n = name.length;
    if (n > b.length - p) return false;
    if (n < 8) {
      for (int i = 0; i < n; i++) {
        if (b[p + i] != name[i]) return false;
      }
    } else {
      // Whole words, the last one overlapping the one before.
      for (int i = 0; i < n - 8; i += 8) {
        if ((long) Text.WORDS.get(b, p + i) != (long) Text.WORDS.get(name, i)) return false;
      }
      if ((long) Text.WORDS.get(b, p + n - 8) != (long) Text.WORDS.get(name, n - 8)) return false;
    }
    c.pos = p + n;
    return true;
  }

  /** Past the name here; returns its field, or -1. */
  public int find(Cursor c) {
    Text.scan(c);
    if (!c.escaped) return lookup(c.bytes, c.textStart, c.textEnd);
    byte[] name = Text.plain(c);
    return lookup(name, 0, name.length);
  }

  private int lookup(byte[] b, int from, int to) {
    int mask = table.length - 1;
    for (int at = hash(b, from, to) & mask; table[at] >= 0; at = at + 1 & mask) {
      byte[] name = plain[table[at]];
      if (Arrays.equals(b, from, to, name, 0, name.length)) return table[at];
    }
    return -1;
  }

  private static int hash(byte[] b, int from, int to) {
    int h = 0;
    for (int i = from; i < to; i++) h = h * 31 + b[i];
    return h ^ h >>> 15;
  }
}
