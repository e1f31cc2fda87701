package headrace.kernel.json.token;

/**
 * ISO dates and times from ASCII, years 0001 to 9999. Every method reads as far as the text goes,
 * leaves the end in {@link Cursor#timeEnd}, and returns {@link #NONE} for any other text.
 */
public final class Times {
  public static final long NONE = Long.MIN_VALUE;
  public static final long MIN_DAY = -719_162; // 0001-01-01
  public static final long MAX_DAY = 2_932_896; // 9999-12-31
  static final long MICROS_PER_DAY = 86_400_000_000L;
  public static final long MIN_MICROS = MIN_DAY * MICROS_PER_DAY;
  public static final long MAX_MICROS = (MAX_DAY + 1) * MICROS_PER_DAY - 1;
  private static final int MAX_OFFSET_HOURS = 18;
  private static final int[] DAYS = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  private static final int[] TENS = {
    1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000
  };

  private Times() {}

  /** yyyy-MM-dd as days since 1970. */
  public static long day(Cursor c, byte[] b, int from, int to) {
    if (to - from < 10) return NONE;
    long head = (long) Text.WORDS.get(b, from);
    short tail = (short) (b[from + 8] << 8 | b[from + 9]);
    c.timeEnd = from + 10;
    if (head == c.dateHead && tail == c.dateTail) return c.dateDay;
    long day = civilDay(b, from);
    if (day != NONE) {
      c.dateHead = head;
      c.dateTail = tail;
      c.dateDay = day;
    }
    return day;
  }

  private static long civilDay(byte[] b, int from) {
    if (b[from + 4] != '-' || b[from + 7] != '-') return NONE;
    int century = two(b, from);
    int rest = two(b, from + 2);
    int month = two(b, from + 5);
    int day = two(b, from + 8);
    if ((century | rest | month | day) < 0) return NONE;
    int year = century * 100 + rest;
    if (year == 0 || month == 0 || month > 12 || day == 0) return NONE;
    if (day > DAYS[month] && !(month == 2 && day == 29 && leap(year))) return NONE;
    // Days of a civil date, counted in years that begin in March:
    // http://howardhinnant.github.io/date_algorithms.html
    int y = month <= 2 ? year - 1 : year;
    int m = month <= 2 ? month + 9 : month - 3;
    return 365L * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
  }

  private static boolean leap(int year) {
    return (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0);
  }

  /**
   * A date, or a date and a time of day with or without a zone, as microseconds since 1970 in UTC.
   */
  public static long instant(Cursor c, byte[] b, int from, int to, boolean zoned) {
    long day = day(c, b, from, to);
    if (day == NONE) return NONE;
    long micros = day * MICROS_PER_DAY;
    int p = from + 10;
    if (p >= to || (b[p] != 'T' && b[p] != ' ')) return micros;
    long nanos = timeOfDay(c, b, p + 1, to);
    if (nanos == NONE) return NONE;
    micros += nanos / 1000;
    if (zoned) {
      long offset = offsetSeconds(c, b, c.timeEnd, to);
      if (offset == NONE) return NONE;
      micros -= offset * 1_000_000L;
      if (micros < MIN_MICROS || micros > MAX_MICROS) return NONE;
    }
    return micros;
  }

  /**
   * HH:mm, HH:mm:ss or HH:mm:ss with a fraction of 1 to 9 digits, as nanoseconds since midnight.
   */
  public static long timeOfDay(Cursor c, byte[] b, int from, int to) {
    if (to - from < 5 || b[from + 2] != ':') return NONE;
    int hour = two(b, from);
    int minute = two(b, from + 3);
    if ((hour | minute) < 0 || hour > 23 || minute > 59) return NONE;
    int second = 0;
    long nanos = 0;
    int p = from + 5;
    if (p < to && b[p] == ':') {
      if (to - p < 3) return NONE;
      second = two(b, p + 1);
      if (second < 0 || second > 59) return NONE;
      p += 3;
      if (p < to && b[p] == '.') {
        int start = ++p;
        int fraction = 0;
        int d;
        while (p < to && p - start < 9 && (d = b[p] - '0') >= 0 && d <= 9) {
          fraction = fraction * 10 + d;
          p++;
        }
        if (p == start) return NONE;
        nanos = (long) fraction * TENS[9 - (p - start)];
      }
    }
    c.timeEnd = p;
    return (hour * 3600 + minute * 60 + second) * 1_000_000_000L + nanos;
  }

  /** Z, +hh, +hhmm, +hh:mm or nothing. */
  private static long offsetSeconds(Cursor c, byte[] b, int p, int to) {
    if (p >= to) return 0;
    if (b[p] == 'Z') {
      c.timeEnd = p + 1;
      return 0;
    }
    if (b[p] != '+' && b[p] != '-') return 0; // not ours: the caller sees where we stopped
    if (to - p < 3) return NONE;
    int hours = two(b, p + 1);
    int end = p + 3;
    int minutes = 0;
    int at = end < to && b[end] == ':' ? end + 1 : end;
    if (at + 1 < to && (at > end || two(b, at) >= 0)) {
      minutes = two(b, at);
      end = at + 2;
    } else if (at > end) {
      return NONE;
    }
    if ((hours | minutes) < 0
        || hours > MAX_OFFSET_HOURS
        || minutes > 59
        || (hours == MAX_OFFSET_HOURS && minutes > 0)) return NONE;
    c.timeEnd = end;
    int seconds = hours * 3600 + minutes * 60;
    return b[p] == '-' ? -seconds : seconds;
  }

  private static int two(byte[] b, int p) {
    int tens = b[p] - '0';
    int ones = b[p + 1] - '0';
    return (tens | ones | 9 - tens | 9 - ones) < 0 ? -1 : tens * 10 + ones;
  }
}
