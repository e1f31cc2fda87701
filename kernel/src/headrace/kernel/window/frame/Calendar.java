package headrace.kernel.window.frame;

import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.List;

/**
 * Days, weeks or months of a time zone. A day has 23 or 25 hours when the clocks change.
 *
 * <p>{@code offset}: how long after midnight a period begins, in local time.
 */
record Calendar(Unit unit, ZoneId zone, long offset) implements Grid {
  enum Unit {
    DAY,
    WEEK,
    MONTH;

    LocalDate first(LocalDate day) {
      return switch (this) {
        case DAY -> day;
        case WEEK -> day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
        case MONTH -> day.withDayOfMonth(1);
      };
    }

    LocalDate plus(LocalDate first, int count) {
      return switch (this) {
        case DAY -> first.plusDays(count);
        case WEEK -> first.plusWeeks(count);
        case MONTH -> first.plusMonths(count);
      };
    }
  }

  private static final long SECOND = 1_000_000;

  @Override
  public List<Span> windowsOf(long time) {
    return List.of(period(time));
  }

  @Override
  public long nextEnd(long time) {
    return period(time).end();
  }

  private Span period(long time) {
    Instant instant =
        Instant.ofEpochSecond(Math.floorDiv(time, SECOND), Math.floorMod(time, SECOND) * 1000);
    LocalDate first =
        unit.first(
            LocalDateTime.ofInstant(instant, zone).minus(offset, ChronoUnit.MICROS).toLocalDate());
    // When the clocks change, the local time may be before the start of a period that has begun, or
    // after the start of one that has not.
    while (start(unit.plus(first, 1)) <= time) first = unit.plus(first, 1);
    while (start(first) > time) first = unit.plus(first, -1);
    return new Span(start(first), start(unit.plus(first, 1)));
  }

  private long start(LocalDate first) {
    Instant start = first.atStartOfDay().plus(offset, ChronoUnit.MICROS).atZone(zone).toInstant();
    return start.getEpochSecond() * SECOND + start.getNano() / 1000;
  }
}
