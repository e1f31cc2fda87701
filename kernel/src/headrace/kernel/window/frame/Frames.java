package headrace.kernel.window.frame;

import java.io.Serializable;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;

/**
 * Which windows a time is in. All times and lengths are microseconds, times since 1970, in either
 * direction.
 */
public sealed interface Frames extends Serializable permits Grid, Session {
  /** The windows, by start, then by end; none, where windows have gaps between them. */
  List<Span> windowsOf(long time);

  /** Whether there are times that are in no window. */
  default boolean gaps() {
    return false;
  }

  /** Windows of one size, one per {@code every}. They may overlap, or leave gaps. */
  static Grid fixed(long size, long every, long offset) {
    return new Fixed(size, every, offset);
  }

  /**
   * Days, weeks (from Monday) or months of a time zone, each starting {@code offset} after
   * midnight, local time.
   */
  static Grid calendar(String unit, ZoneId zone, long offset) {
    return new Calendar(Calendar.Unit.valueOf(unit.toUpperCase(Locale.ROOT)), zone, offset);
  }

  /**
   * Windows that start with their period and end at each of its steps; the last ends with the
   * period.
   */
  static Grid cumulating(long size, long step, long offset) {
    return new Cumulating(fixed(size, size, offset), step);
  }

  static Grid cumulating(String unit, ZoneId zone, long step, long offset) {
    return new Cumulating(calendar(unit, zone, offset), step);
  }

  /**
   * From an event to the gap after the last one; events at most the gap apart are in one window.
   */
  static Frames session(long gap) {
    return new Session(gap);
  }

  /** By name; periods are calendar periods if there is a unit, otherwise of one size. */
  static Frames of(String kind, long size, long every, long offset, String unit, String zone) {
    return switch (kind) {
      case "fixed" -> fixed(size, every, offset);
      case "calendar" -> calendar(unit, ZoneId.of(zone), offset);
      case "cumulating" ->
          unit == null
              ? cumulating(size, every, offset)
              : cumulating(unit, ZoneId.of(zone), every, offset);
      case "session" -> session(size);
      default -> throw new IllegalArgumentException("no such kind of windows: " + kind);
    };
  }
}
