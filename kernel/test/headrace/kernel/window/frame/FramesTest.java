package headrace.kernel.window.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.kernel.table.Chance;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FramesTest {
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final ZoneId NEW_YORK = ZoneId.of("America/New_York");
  private static final long HOUR = 3_600_000_000L;
  private static final long DAY = 24 * HOUR;

  private static List<Span> spans(long... bounds) {
    List<Span> spans = new ArrayList<>();
    for (int i = 0; i < bounds.length; i += 2) spans.add(new Span(bounds[i], bounds[i + 1]));
    return spans;
  }

  private static long micros(String instant) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(instant));
  }

  private static long local(String time, ZoneId zone) {
    return ChronoUnit.MICROS.between(
        Instant.EPOCH, LocalDateTime.parse(time).atZone(zone).toInstant());
  }

  /** The one window a time is in, in local times, and how many hours it has. */
  private static String period(Frames frames, ZoneId zone, String instant) {
    Span span = frames.windowsOf(micros(instant)).get(0);
    assertTrue(span.contains(micros(instant)));
    return text(span.start(), zone)
        + " "
        + text(span.end(), zone)
        + " "
        + (span.end() - span.start()) / HOUR;
  }

  private static String text(long micros, ZoneId zone) {
    return LocalDateTime.ofInstant(Instant.EPOCH.plus(micros, ChronoUnit.MICROS), zone).toString();
  }

  @Test
  void oneAfterTheOther() {
    Frames frames = Frames.fixed(10, 10, 0);
    assertEquals(spans(0, 10), frames.windowsOf(0));
    assertEquals(spans(0, 10), frames.windowsOf(9));
    assertEquals(spans(10, 20), frames.windowsOf(10));
    assertEquals(spans(-10, 0), frames.windowsOf(-1));
    assertEquals(spans(-10, 0), frames.windowsOf(-10));
    assertEquals(spans(-3, 7), Frames.fixed(10, 10, 7).windowsOf(6));
    assertEquals(spans(7, 17), Frames.fixed(10, 10, -3).windowsOf(7));
  }

  @Test
  void overlappingOnes() {
    assertEquals(spans(-5, 5, 0, 10), Frames.fixed(10, 5, 0).windowsOf(4));
    assertEquals(spans(0, 10, 3, 13, 6, 16), Frames.fixed(10, 3, 0).windowsOf(8));
    assertEquals(spans(0, 10, 3, 13, 6, 16, 9, 19), Frames.fixed(10, 3, 0).windowsOf(9));
    assertEquals(spans(3, 13, 6, 16, 9, 19), Frames.fixed(10, 3, 0).windowsOf(10));
  }

  @Test
  void onesWithGaps() {
    Frames frames = Frames.fixed(2, 10, 1);
    assertEquals(spans(), frames.windowsOf(0));
    assertEquals(spans(1, 3), frames.windowsOf(2));
    assertEquals(spans(), frames.windowsOf(3));
    assertEquals(spans(-9, -7), frames.windowsOf(-8));
    assertEquals(spans(), frames.windowsOf(-7));
  }

  private static Fixed anyFixed(Random chance) {
    return new Fixed(1 + chance.nextInt(30), 1 + chance.nextInt(30), chance.nextInt(100) - 50);
  }

  @Test
  void fixedOnesAreAllThatHoldATime() {
    Chance.times(
        300,
        chance -> {
          Fixed frames = anyFixed(chance);
          List<Span> all = new ArrayList<>();
          for (long i = -300; i < 300; i++) {
            long start = frames.offset() + i * frames.every();
            all.add(new Span(start, start + frames.size()));
          }
          for (long time = -40; time < 40; time++) {
            long now = time;
            assertEquals(
                all.stream().filter(span -> span.contains(now)).toList(), frames.windowsOf(time));
            assertEquals(
                all.stream().mapToLong(Span::end).filter(end -> end > now).min().orElseThrow(),
                frames.nextEnd(time));
          }
        });
  }

  @Test
  void daysAreAsLongAsTheyAreThere() {
    Frames days = Frames.calendar("day", BERLIN, 0);
    assertEquals(
        "2026-03-28T00:00 2026-03-29T00:00 24", period(days, BERLIN, "2026-03-28T22:59:59Z"));
    assertEquals(
        "2026-03-29T00:00 2026-03-30T00:00 23", period(days, BERLIN, "2026-03-28T23:00:00Z"));
    assertEquals(
        "2026-03-29T00:00 2026-03-30T00:00 23",
        period(days, BERLIN, "2026-03-29T21:59:59.999999Z"));
    assertEquals(
        "2026-03-30T00:00 2026-03-31T00:00 24", period(days, BERLIN, "2026-03-29T22:00:00Z"));
    assertEquals(
        "2026-10-25T00:00 2026-10-26T00:00 25", period(days, BERLIN, "2026-10-25T01:30:00Z"));
    Frames american = Frames.calendar("day", NEW_YORK, 0);
    assertEquals(
        "2026-03-08T00:00 2026-03-09T00:00 23", period(american, NEW_YORK, "2026-03-08T12:00:00Z"));
    assertEquals(
        "2026-11-01T00:00 2026-11-02T00:00 25", period(american, NEW_YORK, "2026-11-02T04:59:59Z"));
    assertEquals(
        "2026-11-02T00:00 2026-11-03T00:00 24", period(american, NEW_YORK, "2026-11-02T05:00:00Z"));
  }

  @Test
  void weeksStartOnMonday() {
    Frames weeks = Frames.calendar("week", BERLIN, 0);
    assertEquals(
        "2026-03-23T00:00 2026-03-30T00:00 167", period(weeks, BERLIN, "2026-03-29T12:00:00Z"));
    assertEquals(
        "2026-03-30T00:00 2026-04-06T00:00 168", period(weeks, BERLIN, "2026-03-29T22:00:00Z"));
    assertEquals(
        "1969-12-29T00:00 1970-01-05T00:00 168", period(weeks, BERLIN, "1970-01-01T00:00:00Z"));
  }

  @Test
  void monthsToo() {
    Frames months = Frames.calendar("month", NEW_YORK, 0);
    assertEquals(
        "2024-02-01T00:00 2024-03-01T00:00 696", period(months, NEW_YORK, "2024-03-01T04:59:59Z"));
    assertEquals(
        "2026-11-01T00:00 2026-12-01T00:00 721", period(months, NEW_YORK, "2026-11-30T12:00:00Z"));
    assertEquals(
        "1969-12-01T00:00 1970-01-01T00:00 744",
        period(months, NEW_YORK, "1969-12-31T23:59:59.999999Z"));
  }

  @Test
  void aDayCanBeginInTheMorning() {
    Frames days = Frames.calendar("day", BERLIN, 6 * HOUR);
    assertEquals(
        "2026-03-27T06:00 2026-03-28T06:00 24", period(days, BERLIN, "2026-03-28T04:59:59Z"));
    assertEquals(
        "2026-03-28T06:00 2026-03-29T06:00 23", period(days, BERLIN, "2026-03-28T05:00:00Z"));
    assertEquals(
        "2026-10-24T06:00 2026-10-25T06:00 25", period(days, BERLIN, "2026-10-25T04:59:59Z"));
  }

  @Test
  void aPeriodCanBeginWhenTheClocksChange() {
    Frames days = Frames.calendar("day", BERLIN, 5 * HOUR / 2);
    // There is no 02:30: it becomes 03:30.
    assertEquals(
        "2026-03-28T02:30 2026-03-29T03:30 24", period(days, BERLIN, "2026-03-29T01:10:00Z"));
    assertEquals(
        "2026-03-29T03:30 2026-03-30T02:30 23", period(days, BERLIN, "2026-03-29T01:30:00Z"));
    // There are two: it is the first.
    assertEquals(
        "2026-10-24T02:30 2026-10-25T02:30 24", period(days, BERLIN, "2026-10-25T00:29:59Z"));
    assertEquals(
        "2026-10-25T02:30 2026-10-26T02:30 25", period(days, BERLIN, "2026-10-25T01:10:00Z"));
  }

  @Test
  void aDayCanBeginAtOneOrBeLeftOut() {
    ZoneId saoPaulo = ZoneId.of("America/Sao_Paulo");
    assertEquals(
        "2018-11-04T01:00 2018-11-05T00:00 23",
        period(Frames.calendar("day", saoPaulo, 0), saoPaulo, "2018-11-04T12:00:00Z"));
    ZoneId apia = ZoneId.of("Pacific/Apia");
    assertEquals(
        "2011-12-29T00:00 2011-12-31T00:00 24",
        period(Frames.calendar("day", apia, 0), apia, "2011-12-30T09:59:59Z"));
    assertEquals(
        "2011-12-31T00:00 2012-01-01T00:00 24",
        period(Frames.calendar("day", apia, 0), apia, "2011-12-30T10:00:00Z"));
  }

  @Test
  void periodsLeaveNoTimeOut() {
    Chance.times(
        300,
        chance -> {
          String[] zones = {
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Africa/Cairo",
            "UTC",
            "Asia/Kathmandu"
          };
          ZoneId zone = ZoneId.of(Chance.one(chance, zones));
          Grid frames =
              Frames.calendar(
                  Chance.one(chance, "day", "week", "month"),
                  zone,
                  Chance.one(chance, 0L, HOUR / 2, 2 * HOUR, 30 * HOUR));
          long time = chance.nextLong(-60 * 365 * DAY, 80 * 365 * DAY);
          for (int i = 0; i < 100; i++) {
            Span span = frames.windowsOf(time).get(0);
            assertTrue(span.contains(time));
            assertEquals(List.of(span), frames.windowsOf(span.start()));
            assertEquals(List.of(span), frames.windowsOf(span.end() - 1));
            assertEquals(span.end(), frames.nextEnd(time));
            assertEquals(span.end(), frames.windowsOf(span.end()).get(0).start());
            time = span.end() + chance.nextLong(DAY / 2);
          }
        });
  }

  @Test
  void cumulatingOnesEndWithEachStepOfTheirPeriod() {
    Grid frames = Frames.cumulating(10, 4, 0);
    assertEquals(spans(0, 4, 0, 8, 0, 10), frames.windowsOf(0));
    assertEquals(spans(0, 8, 0, 10), frames.windowsOf(4));
    assertEquals(spans(0, 10), frames.windowsOf(9));
    assertEquals(spans(10, 14, 10, 18, 10, 20), frames.windowsOf(10));
    assertEquals(spans(-10, -6, -10, -2, -10, 0), frames.windowsOf(-7));
    assertEquals(spans(-7, 3), Frames.cumulating(10, 5, 3).windowsOf(2));
    assertEquals(
        List.of(4L, 8L, 10L, 14L),
        List.of(frames.nextEnd(3), frames.nextEnd(4), frames.nextEnd(8), frames.nextEnd(10)));
  }

  @Test
  void alsoOnDaysWhenTheClocksChange() {
    Grid frames = Frames.cumulating("day", BERLIN, HOUR, 0);
    for (String day : List.of("2026-03-29", "2026-10-25", "2026-06-01")) {
      long start = local(day + "T00:00", BERLIN);
      int hours = day.equals("2026-03-29") ? 23 : day.equals("2026-10-25") ? 25 : 24;
      List<Span> expected = new ArrayList<>();
      for (int hour = 1; hour <= hours; hour++) expected.add(new Span(start, start + hour * HOUR));
      assertEquals(expected, frames.windowsOf(start));
      assertEquals(expected.subList(3, hours), frames.windowsOf(start + 3 * HOUR));
      assertEquals(expected.subList(hours - 1, hours), frames.windowsOf(start + hours * HOUR - 1));
    }
  }

  @Test
  void aSessionBeginsWithItsEvent() {
    assertEquals(spans(-7, -2), Frames.session(5).windowsOf(-7));
  }

  @Test
  void byName() {
    assertEquals(Frames.fixed(1, 2, 3), Frames.of("fixed", 1, 2, 3, null, null));
    assertEquals(
        Frames.calendar("week", BERLIN, 3),
        Frames.of("calendar", 0, 0, 3, "week", "Europe/Berlin"));
    assertEquals(Frames.cumulating(8, 2, 1), Frames.of("cumulating", 8, 2, 1, null, null));
    assertEquals(
        Frames.cumulating("day", BERLIN, 2, 1),
        Frames.of("cumulating", 0, 2, 1, "day", "Europe/Berlin"));
    assertEquals(Frames.session(5), Frames.of("session", 5, 0, 0, null, null));
    assertThrows(IllegalArgumentException.class, () -> Frames.of("other", 1, 1, 0, null, null));
    assertThrows(IllegalArgumentException.class, () -> Frames.fixed(0, 1, 0));
    assertThrows(IllegalArgumentException.class, () -> Frames.calendar("fortnight", BERLIN, 0));
  }
}
