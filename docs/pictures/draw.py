"""Draws the pictures of the documentation: `python docs/pictures/draw.py` writes the SVG files beside this one.

The windows, their counts and the times of results are computed here from the events, so that a picture can't say anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from html import escape
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

EVENTS = (6, 7, 8, 13, 15, 17, 25)
"""Of one key, in minutes."""
SPAN = 32
"""What the axis shows, in minutes."""

WIDTH = 720
LEFT = 68
MINUTE = 20
BAR, STEP = 20, 26
STYLE = """
  text { font: 12px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .paper { fill: #ffffff; stroke: #d1d9e0 }
  .soft { fill: #59636e }
  .line { stroke: #818b98; fill: none }
  .faint { stroke: #d1d9e0; fill: none }
  .event { fill: #0969da }
  .other { fill: #818b98 }
  .bar { fill: #ddf4ff; stroke: #0969da }
  .band { fill: #f6f8fa; stroke: #d1d9e0 }
  .open { fill: #ffffff; stroke: #1a7f37; stroke-width: 1.5 }
  .done { fill: #1a7f37; stroke: #1a7f37; stroke-width: 1.5 }
  .inside { fill: #ffffff }
  .late { fill: #cf222e }
  .mark { stroke: #bc4c00; fill: none; stroke-width: 1.5 }
  .marked { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .paper { fill: #0d1117; stroke: #3d444d }
    .soft { fill: #9198a1 }
    .line { stroke: #818b98 }
    .faint { stroke: #30363d }
    .event { fill: #4493f8 }
    .bar { fill: #12305a; stroke: #4493f8 }
    .band { fill: #151b23; stroke: #3d444d }
    .open { fill: #0d1117; stroke: #3fb950 }
    .done { fill: #3fb950; stroke: #3fb950 }
    .inside { fill: #0d1117 }
    .late { fill: #f85149 }
    .mark { stroke: #f0883e }
    .marked { fill: #f0883e }
  }
"""


class Window(NamedTuple):
    """In minutes, with the number of events in it."""

    start: float
    end: float
    count: int


# What is in which window, as the documentation says it.


def hopping(events: Sequence[float], size: int, every: int) -> list[Window]:
    """Windows [start, start + size) at each multiple of `every`; those without events are not told."""
    starts = range(-size // every * every, SPAN, every)
    counted = [Window(start, start + size, sum(start <= event < start + size for event in events)) for start in starts]
    return [window for window in counted if window.count]


def tumbling(events: Sequence[float], size: int) -> list[Window]:
    return hopping(events, size, size)


def sliding(events: Sequence[float], size: int) -> list[Window]:
    """Windows (end - size, end] at each time at which an event enters or leaves."""
    ends = sorted({*events, *(event + size for event in events)})
    return [Window(end - size, end, sum(end - size < event <= end for event in events)) for end in ends]


def session(events: Sequence[float], gap: int) -> list[Window]:
    windows: list[Window] = []
    for event in sorted(events):
        if windows and event <= windows[-1].end:
            windows[-1] = Window(windows[-1].start, event + gap, windows[-1].count + 1)
        else:
            windows.append(Window(event, event + gap, 1))
    return windows


def cumulating(events: Sequence[float], size: int, every: int) -> list[list[Window]]:
    """For each period its windows, which begin together; those without events are not told."""
    periods: list[list[Window]] = []
    for start in range(0, SPAN, size):
        ends = [min(start + n, start + size) for n in range(every, size + every, every)]
        counted = [Window(start, end, sum(start <= event < end for event in events)) for end in ends]
        periods.append([window for window in counted if window.count])
    return periods


def days(first: date, count: int, zone: ZoneInfo) -> list[tuple[date, datetime, datetime]]:
    """From midnight to midnight by the wall clock, as times in UTC."""
    dates = [first + timedelta(days=n) for n in range(count + 1)]
    midnights = [datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) for day in dates]
    return list(zip(dates, midnights, midnights[1:], strict=False))


class Told(NamedTuple):
    """A result: when it came, of which window, with which count, and whether it is the last."""

    at: float
    start: int
    count: int
    final: bool


SIZE, LATENESS, TICK = 6, 2, 2
MINE, OTHERS = (1, 3, 4, 7), (9, 11, 13, 15, 17, 19, 21)
"""Events that come at their own time, one a batch: of the key that is drawn, and of others, which move time on too."""


def updates() -> list[Told]:
    """After each event, its window."""
    return [
        Told(now, now // SIZE * SIZE, sum(now // SIZE == event // SIZE for event in MINE if event <= now), False)
        for now in MINE
    ]


def final() -> list[Told]:
    """When the watermark passes the end, once."""
    return [Told(_passed(window.end), int(window.start), window.count, True) for window in tumbling(MINE, SIZE)]


def both() -> list[Told]:
    return sorted([*updates(), *final()])


def every() -> list[Told]:
    """At each tick that the watermark passes, the window as it was then; until one without events has ended."""
    told: list[Told] = []
    tick = (MINE[0] // TICK + 1) * TICK
    while True:
        start = (tick - 1) // SIZE * SIZE
        count, last = sum(start <= event < tick for event in MINE), tick == start + SIZE
        told.append(Told(_passed(tick), start, count, last))
        if last and not count:
            return told
        tick += TICK


def _passed(time: float) -> int:
    """When the watermark, which is LATENESS behind the newest event, has come so far."""
    return next(now for now in (*MINE, *OTHERS) if now - LATENESS >= time)


# How it is drawn.


class Picture:
    """Shapes and texts of an SVG file; y grows downwards."""

    def __init__(self, height: float, says: str) -> None:
        self._height = height
        self._says = says
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: object, kind: str = "", anchor: str = "middle") -> None:
        self._add("text", kind, f' x="{x:g}" y="{y:g}" text-anchor="{anchor}"', escape(str(text), quote=False))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "line", dashes: str = "") -> None:
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._add("line", kind, f' x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{dashed}')

    def path(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        self._add("polyline", kind, f' points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"')

    def dot(self, x: float, y: float, kind: str = "event", radius: float = 5) -> None:
        self._add("circle", kind, f' cx="{x:g}" cy="{y:g}" r="{radius:g}"')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "bar") -> None:
        self._add("rect", kind, f' x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3"')

    def arrow(self, x1: float, x2: float, y: float, kind: str) -> None:
        self.line(x1, y, x2, y, kind)
        self.path([(x2 - 6, y - 4), (x2, y), (x2 - 6, y + 4)], kind)

    def svg(self) -> str:
        size = f'width="{WIDTH}" height="{self._height:g}" viewBox="0 0 {WIDTH} {self._height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        paper = f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{self._height - 1:g}" rx="6"/>'
        title = f"<title>{escape(self._says, quote=False)}</title>"
        return "\n".join([head, title, f"<style>{STYLE}</style>", paper, *self._parts, "</svg>"]) + "\n"

    def _add(self, name: str, kind: str, rest: str, content: str | None = None) -> None:
        end = "/>" if content is None else f">{content}</{name}>"
        self._parts.append(f"<{name}" + (f' class="{kind}"' if kind else "") + rest + end)


def x(minute: float) -> float:
    return LEFT + minute * MINUTE


def axis(picture: Picture, y: float, until: int = SPAN, each: int = 2, name: str = "minute") -> None:
    picture.line(x(0), y, x(until), y)
    picture.text(14, y + 20, name, "soft", "start")
    for minute in range(0, until + 1, each):
        picture.line(x(minute), y, x(minute), y + 4)
        picture.text(x(minute), y + 20, minute, "soft")


def lanes(windows: Iterable[Window]) -> list[list[Window]]:
    """Each window in the first lane where it does not lie over another."""
    found: list[list[Window]] = []
    for window in windows:
        lane = next((lane for lane in found if lane[-1].end <= window.start), None)
        if lane is None:
            found.append([window])
        else:
            lane.append(window)
    return found


def windowed(says: str, rows: Sequence[Sequence[Window]], closed_at_end: bool = False) -> str:
    """The events on their axis and, below, the windows in lanes."""
    top = 78
    picture = Picture(top + len(rows) * STEP + 10, says)
    picture.text(14, 28, "events", "soft", "start")
    for event in EVENTS:
        picture.line(x(event), 24, x(event), top + len(rows) * STEP, "faint", "2 3")
    axis(picture, 40)
    for event in EVENTS:
        picture.dot(x(event), 24)
    picture.text(14, top + 14, "count", "soft", "start")
    for number, row in enumerate(rows):
        y = top + number * STEP
        for window in row:
            start, end = x(window.start), x(min(window.end, SPAN))
            picture.box(start + 1, y, end - start - 2, BAR)
            picture.text((start + end) / 2, y + 14.5, window.count)
            if closed_at_end:
                picture.dot(end, y + BAR / 2, "event", 3)
    return picture.svg()


def calendar() -> str:
    zone, first = ZoneInfo("Europe/Berlin"), date(2024, 3, 30)
    found = days(first, 3, zone)
    hour, start = 8.6, found[0][1]
    events = [
        datetime(2024, 3, day, *at, tzinfo=UTC) for day, at in ((30, (9, 0)), (30, (22, 30)), (30, (23, 30)), (31, (22, 30)))
    ]

    def place(time: datetime) -> float:
        return LEFT + (time - start) / timedelta(hours=1) * hour

    picture = Picture(152, "Days in Berlin when the clocks change: the 31st of March has 23 hours")
    picture.text(14, 28, "events", "soft", "start")
    for event in events:
        picture.line(place(event), 24, place(event), 142, "faint", "2 3")
    picture.line(LEFT, 40, place(found[-1][2]), 40)
    for row, (name, clock) in enumerate((("UTC", ZoneInfo("UTC")), ("Berlin", zone))):
        picture.text(14, 60 + row * 20, name, "soft", "start")
        time = start
        while time <= found[-1][2]:
            if time.astimezone(clock).hour % 6 == 0:
                picture.text(place(time), 60 + row * 20, f"{time.astimezone(clock):%H}", "soft")
                if row == 0:
                    picture.line(place(time), 40, place(time), 44)
            time += timedelta(hours=1)
    for event in events:
        picture.dot(place(event), 24)
    picture.text(14, 118, "count", "soft", "start")
    for day, begin, end in found:
        count = sum(begin <= event < end for event in events)
        picture.box(place(begin) + 1, 92, place(end) - place(begin) - 2, 48)
        middle = (place(begin) + place(end)) / 2
        picture.text(middle, 112, f"{day.day} {day:%B}, {(end - begin) / timedelta(hours=1):g} hours")
        picture.text(middle, 130, count)
    return picture.svg()


def emissions() -> str:
    kinds: list[tuple[str, list[Told]]] = [
        ('"updates"', updates()),
        ('"final"', final()),
        ('"all"', both()),
        (f'hr.every("{TICK} minutes")', every()),
    ]
    left, minute, until = 190, 23, 22
    rows = [(kind, start, told) for kind, told in kinds for start in sorted({one.start for one in told})]
    top, step, space = 84, 26, 10
    picture = Picture(top + len(rows) * step + len(kinds) * space + 38, "When the results of windows of six minutes come")

    def place(time: float) -> float:
        return left + time * minute

    picture.text(14, 28, "events", "soft", "start")
    picture.text(176, 28, "this key", "", "end")
    picture.text(176, 46, "other keys", "soft", "end")
    for event in MINE:
        picture.dot(place(event), 24)
    for event in OTHERS:
        picture.dot(place(event), 42, "other")
    picture.line(left, 56, place(until), 56)
    picture.text(14, 75, "they come at minute", "soft", "start")
    for time in range(0, until + 1, 2):
        picture.line(place(time), 56, place(time), 60)
        picture.text(place(time), 75, time, "soft")
    y, last = float(top), ""
    for kind, start, told in rows:
        if kind != last:
            y += space
            picture.line(14, y - 3, WIDTH - 14, y - 3, "faint")
            picture.text(14, y + 17, kind, "", "start")
        last = kind
        picture.text(176, y + 17, f"{start}–{start + SIZE}", "soft", "end")
        for one in told:
            if one.start == start:
                picture.dot(place(one.at), y + 13, "done" if one.final else "open", 9)
                picture.text(place(one.at), y + 17, one.count, "inside" if one.final else "")
        y += step
    picture.dot(left + 9, y + 20, "open", 9)
    picture.text(left + 24, y + 24, "a count so far", "soft", "start")
    picture.dot(left + 139, y + 20, "done", 9)
    picture.text(left + 154, y + 24, "the final count", "soft", "start")
    return picture.svg()


ARRIVALS = ((1, 1), (3, 3), (5, 2), (8, 8), (11, 11), (14, 4), (16, 6.5), (21, 15))
"""When an event comes, and its time."""
LATE_SIZE, LATE_BY = 6, 4


def watermarks() -> list[float]:
    """After each arrival; it never goes back."""
    return [max(time for _, time in ARRIVALS[: n + 1]) - LATE_BY for n in range(len(ARRIVALS))]


def late() -> str:
    left, bottom, unit, across, until = 96, 272, 13, 27, 22

    def place(now: float, time: float) -> tuple[float, float]:
        return left + now * across, bottom - time * unit

    picture = Picture(bottom + 58, "A late event: its window is over when it comes")
    picture.text(14, 22, f"event time, in minutes; the bands are windows of {LATE_SIZE}", "soft", "start")
    for start in range(0, 18, LATE_SIZE):
        _, upper = place(0, start + LATE_SIZE)
        picture.box(left, upper + 1, until * across, LATE_SIZE * unit - 2, "band")
        picture.text(left - 30, upper + LATE_SIZE * unit / 2 + 4, f"{start}–{start + LATE_SIZE}", "", "end")
    line: list[tuple[float, float]] = []
    for (now, _), before, mark in zip(ARRIVALS, [0.0, *watermarks()], watermarks(), strict=False):
        if mark > 0 and mark != before:
            line += [place(now, max(before, 0)), place(now, mark)]
    picture.path([*line, (place(until, 0)[0], line[-1][1])], "mark")
    picture.text(line[-2][0] - 8, line[-2][1] - 8, "watermark", "marked", "end")
    for (now, time), mark in zip(ARRIVALS, [0.0, *watermarks()], strict=False):
        over = (time // LATE_SIZE + 1) * LATE_SIZE <= mark
        right, down = place(now, time)
        picture.dot(right, down, "late" if over else "event")
        if over:
            picture.text(right + 10, down + 4, "late: its window is over", "", "start")
        elif time < mark:
            picture.text(right + 10, down + 4, "counts: still open", "", "start")
    picture.line(left, bottom, left + until * across, bottom)
    for now in range(0, until + 1, 2):
        picture.line(left + now * across, bottom, left + now * across, bottom + 4)
        picture.text(left + now * across, bottom + 20, now, "soft")
    for time in range(0, 19, LATE_SIZE):
        picture.text(left - 8, place(0, time)[1] + 4, time, "soft", "end")
    picture.text(left, bottom + 42, f"minute at which an event comes; lateness is {LATE_BY} minutes", "soft", "start")
    return picture.svg()


OCCURRED, SENT, RECEIVED = 3, 5, 12


def device() -> str:
    offset = RECEIVED - SENT
    left, minute, until = 110, 40, 14

    def place(time: float) -> float:
        return left + time * minute

    picture = Picture(234, "The clock of a device is wrong; the time of its event is put right")
    picture.text(14, 22, f"an event that a device sends {SENT - OCCURRED} minutes after it occurred", "soft", "start")
    for y, name in ((66, "device's clock"), (182, "log's clock")):
        picture.line(left, y, place(until), y)
        picture.text(14, y + 4, name, "soft", "start")
        for time in range(0, until + 1, 2):
            picture.line(place(time), y, place(time), y + 4)
            picture.text(place(time), y + 20, f"10:{time:02}", "soft")
    for time, above, below, kind, y, text in (
        (SENT, "sent", "received", "event", 114, f"received - sent = {offset} minutes"),
        (OCCURRED, "occurred", "_time", "done", 148, f"occurred + {offset} minutes"),
    ):
        picture.line(place(time), 66, place(time), y, "faint", "2 3")
        picture.line(place(time + offset), y, place(time + offset), 182, "faint", "2 3")
        picture.dot(place(time), 66)
        picture.text(place(time), 50, above)
        picture.dot(place(time + offset), 182, kind)
        picture.text(place(time + offset), 222, below)
        picture.arrow(place(time), place(time + offset), y, "mark")
        picture.text(place(time + offset / 2), y - 7, text, "marked")
    return picture.svg()


def stacked(periods: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """The first window of each period in the first lane, and so on."""
    return [[period[n] for period in periods if n < len(period)] for n in range(max(map(len, periods)))]


PICTURES: dict[str, Callable[[], str]] = {
    "tumbling": lambda: windowed("Tumbling windows of 6 minutes", lanes(tumbling(EVENTS, 6))),
    "hopping-gaps": lambda: windowed("Windows of 6 minutes every 10 minutes", lanes(hopping(EVENTS, 6, 10))),
    "hopping": lambda: windowed("Windows of 6 minutes every 2 minutes", lanes(hopping(EVENTS, 6, 2))),
    "sliding": lambda: windowed("Sliding windows of 6 minutes", lanes(sliding(EVENTS, 6)), closed_at_end=True),
    "session": lambda: windowed("Sessions with a gap of 4 minutes", lanes(session(EVENTS, 4))),
    "cumulating": lambda: windowed("Windows that grow by 2 minutes up to 10", stacked(cumulating(EVENTS, 10, 2))),
    "calendar": calendar,
    "emissions": emissions,
    "late": late,
    "device-clock": device,
}


def main() -> None:
    for name, draw in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
