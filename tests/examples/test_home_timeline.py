"""Timelines against DuckDB: two hundred worlds side by side, ten steps each, one change a world and step."""

import random
from datetime import timedelta
from typing import Any

import duckdb
import pyarrow as pa

from examples.home_timeline import app
from headrace.testing import at

WORLDS, STEPS, BEFORE = 200, 10, 25
USERS = 4
START = at("10:00:00")
VIEW = """
    create table tweets (n int, event varchar, id bigint, author varchar, text varchar, time timestamptz);
    create table follows (n int, event varchar, follower varchar, followee varchar, time timestamptz);
    create view newest_tweets as from tweets qualify row_number() over (partition by id order by time desc, n desc) = 1;
    create view newest_follows as
        from follows qualify row_number() over (partition by follower, followee order by time desc, n desc) = 1;
    create view there as select id, author, text, time as sent from newest_tweets where event = 'sent';
    create view following as select follower, followee from newest_follows where event = 'followed';
    create view timelines as
        select follower, list({id: id, author: author, text: text, sent: sent} order by sent desc, id desc)[:100] as timeline
        from following join there on followee = author
        group by follower
"""
COLUMNS = {
    "tweets": {"n": pa.int32(), "event": pa.string(), "id": pa.int64(), "author": pa.string(), "text": pa.string()},
    "follows": {"n": pa.int32(), "event": pa.string(), "follower": pa.string(), "followee": pa.string()},
}
Event = tuple[str, dict[str, Any]]


class World:
    """Users of its own who tweet, delete, follow and unfollow; some events come late, twice, or without what they are about."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.chance = chance
        self.users = [f"w{number}-{name}" for name in range(USERS)]
        self.ids = number * 1000
        self.sent: list[int] = []
        self.past: list[Event] = []

    def step(self, time: int) -> Event:
        event = self._event(time)
        self.past.append(event)
        return event

    def tweet(self, time: float, author: str) -> Event:
        self.ids += 1
        self.sent.append(self.ids)
        return _tweet("sent", self.ids, time, author=author, text=f"text {self.ids}")

    def follow(self, event: str, follower: str, followee: str, time: int) -> Event:
        return "follows", {"event": event, "follower": follower, "followee": followee, "at": START + timedelta(seconds=time)}

    def _event(self, time: int) -> Event:
        one, late = self.chance.choice, self.chance.randint(0, 5) if self.chance.random() < 0.15 else 0
        kind = self.chance.random()
        if self.past and kind < 0.05:
            return one(self.past)
        if kind < 0.35 or not self.sent:
            return self.tweet(time - late, one(self.users))
        if kind < 0.4:
            # It overtakes its tweet, which must not come back to life, unless it is sent after all.
            return _tweet("deleted", self.ids + self.chance.randint(1, 3), time + 3)
        if kind < 0.6:
            return _tweet("deleted", one(self.sent), time - late)
        return self.follow(one(["followed", "followed", "unfollowed"]), one(self.users), one(self.users), time - late)


def _tweet(event: str, number: int, time: float, author: str | None = None, text: str | None = None) -> Event:
    return "tweets", {"event": event, "id": number, "author": author, "text": text, "at": START + timedelta(seconds=time)}


def test_timelines_are_those_of_the_view_after_each_of_2000_steps(drive):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    worlds = [World(number, random.Random(f"{seed}-{number}")) for number in range(WORLDS)]
    events = [world.step(time) for time in range(BEFORE) for world in worlds]
    # More than a timeline holds: what is deleted from it makes room for an older one.
    for world in worlds[:3]:
        events += [world.follow("followed", user, world.users[0], BEFORE) for user in world.users]
        events += [world.tweet(n / 10, world.users[0]) for n in range(120)]

    t = drive(app)
    timelines: dict[str | None, Any] = {}
    told = 0
    with duckdb.connect() as truth:
        truth.execute("set timezone = 'UTC'")
        truth.execute(VIEW)
        for step in range(STEPS + 1):
            insert(truth, events, first=step * 10_000)
            for topic in ("tweets", "follows"):
                t.feed(topic, [row for name, row in events if name == topic])
            t.run()
            changes = t.changes("timelines")[told:]
            told += len(changes)
            expected = dict(truth.execute("from timelines").fetchall())
            # Each timeline that is another one now was told once, and no other.
            different = {user for user in expected.keys() | timelines.keys() if expected.get(user) != timelines.get(user)}
            assert sorted(user for user, _ in changes) == sorted(different), step
            timelines |= {user: row and row["timeline"] for user, row in changes}
            timelines = {user: timeline for user, timeline in timelines.items() if timeline is not None}
            assert timelines == expected, step
            events = [world.step(BEFORE + step) for world in worlds]
    assert len(timelines) > WORLDS
    assert max(map(len, timelines.values())) == 100
    assert t.total("timelines").stale > 0


def insert(truth: duckdb.DuckDBPyConnection, events: list[Event], first: int) -> None:
    for topic, types in COLUMNS.items():
        rows = [{"n": first + n, "time": row["at"], **row} for n, (name, row) in enumerate(events) if name == topic]
        batch = pa.Table.from_pylist(rows, pa.schema([*types.items(), ("time", pa.timestamp("us", "UTC"))]))
        truth.register("batch", batch)
        truth.execute(f"insert into {topic} from batch")


def test_a_timeline_is_newest_first_and_follows_every_kind_of_change(drive):
    t = drive(app)
    t.feed("follows", [{"event": "followed", "follower": "ann", "followee": "bob", "at": "10:00:00"}])
    t.feed(
        "tweets",
        """
        at       | event | id | author | text
        10:00:01 | sent  | 1  | bob    | hello
        10:00:02 | sent  | 2  | bob    | again
        10:00:03 | sent  | 3  | cem    | nobody reads this
        """,
    ).run()
    assert timeline(t) == ["again", "hello"]
    t.feed("tweets", [{"event": "deleted", "id": 2, "at": "10:01:00"}])
    t.feed("follows", [{"event": "followed", "follower": "ann", "followee": "cem", "at": "10:01:00"}]).run()
    assert timeline(t) == ["nobody reads this", "hello"]
    unfollowed = {"event": "unfollowed", "follower": "ann", "at": "10:02:00"}
    t.feed("follows", [{**unfollowed, "followee": name} for name in ("bob", "cem")]).run()
    assert t.table("timelines") == {}
    assert t.changes("timelines")[-1] == ("ann", None)


def timeline(t):
    return [tweet["text"] for tweet in t.table("timelines")["ann"]["timeline"]]
