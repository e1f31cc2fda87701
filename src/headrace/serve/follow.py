"""Follower: reads the topics of views into their store, so that each batch becomes visible as a whole.

    poll the topics, and the marks of the queries that write them; hold each view's records back, by partition
    a view that is being filled:  commit what has come, up to the newest mark; visible once that or the topic's end is reached
    without marks:                commit what has come
    with marks:                   while the oldest mark's ends are reached: commit the records before them, as one

A mark says where its batch ends in each partition; KafkaBatch writes it in the batch's own transaction. A batch that is larger
than what is held goes piece by piece into a transaction of the store, which stays open until its end has come.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from headrace.broker import topics
from headrace.broker.client import Connection
from headrace.errors import BrokerError
from headrace.serve import keys
from headrace.serve.records import State
from headrace.serve.store import Batch, Writer
from headrace.serve.view import View

ENDS = "headrace.ends"
"""The header of a mark: {"topic/0": 17}, the offset after the last record of the batch."""
_MESSAGES = 10_000
_HELD = 64 << 20
"""Bytes of records that a view holds back while no mark covers them; then it stops reading, until there is one."""

Held = tuple[int, int, bytes | None, bytes | None]
"""Offset, time, key, value."""


class _Following:
    """One view: what has come of its topic and is not in it yet."""

    def __init__(self, view: View, state: State, partitions: int) -> None:
        self.view = view
        self.held: list[deque[Held]] = [deque() for _ in range(partitions)]
        self.bytes = 0
        self.next = [*state.place, *([0] * (partitions - len(state.place)))]
        """Where the consumer is: all records before have come."""
        self.ended = [False] * partitions
        """Whether the consumer has been at the partition's end."""
        self.filled = state.filled
        self.marks: deque[dict[int, int]] = deque()
        self.paused = False
        self.partly = False
        """Whether a part of its next batch is in the store's open transaction."""
        self.refused = 0
        """Records whose key is not one of this view's."""
        self._key = keys.of_record(view.types, view.key) if view.kind == "table" else None

    def take(self, partition: int, offset: int, time: int, key: bytes | None, value: bytes | None) -> None:
        if offset < self.next[partition]:
            return
        self.next[partition] = offset + 1
        self.held[partition].append((offset, time, key, value))
        self.bytes += _size(key, value)

    def marked(self, ends: dict[int, int]) -> None:
        if not self.filled:
            self.marks.clear()
        self.marks.append(ends)

    def target(self) -> list[int] | None:
        """Up to where records are to become visible together; None if that is not known yet."""
        if self.view.marks is None:
            return list(self.next)
        if not self.marks:
            return None
        return [self.marks[0].get(partition, 0) for partition in range(len(self.next))]

    def reached(self, target: list[int]) -> bool:
        if self.view.marks is None:
            return any(self.held) if self.filled else all(self.ended)
        return all(place >= end for place, end in zip(self.next, target, strict=True))

    def has(self, target: list[int]) -> bool:
        """Whether some of it is held."""
        return any(held and held[0][0] < end for held, end in zip(self.held, target, strict=True))

    def drain(self, batch: Batch, target: list[int]) -> None:
        """What is held of it, into the batch."""
        name, fill = self.view.name, list[tuple[bytes, bytes | None, int, int, int]]()
        for partition, end in enumerate(target):
            held = self.held[partition]
            while held and held[0][0] < end:
                offset, time, key, value = held.popleft()
                self.bytes -= _size(key, value)
                if self._key is None:
                    if value is not None:
                        batch.add(name, value, partition, offset, time)
                elif (at := self._at(key)) is None:
                    self.refused += 1
                elif self.filled:
                    batch.put(name, at, value, partition, offset, time)
                else:
                    fill.append((at, value, partition, offset, time))
        if fill:
            batch.load(name, fill)

    def _at(self, key: bytes | None) -> bytes | None:
        """Its key in the store; None for one that is not a key of this view."""
        if key is None:
            # The row of a table without key columns has none.
            return None if self.view.key else keys.ONLY
        try:
            assert self._key is not None
            return self._key(key)
        except (keys.KeyRefused, UnicodeDecodeError):
            return None


def _size(key: bytes | None, value: bytes | None) -> int:
    return 64 + len(key or b"") + len(value or b"")


class Follower:
    """Call `poll` again and again; it returns whether something became visible."""

    def __init__(self, connection: Connection, writer: Writer, views: Iterable[View]) -> None:
        self._connection = connection
        self._writer = writer
        self._views: dict[str, _Following] = {}
        self._by_topic: dict[str, list[_Following]] = {}
        self._marks: dict[str, dict[bytes, list[_Following]]] = {}
        self._opened = ExitStack()
        self._current: Batch | None = None
        self._consumer: Consumer = connection.consumer(
            group_id="headrace-serve",
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            fetch_wait_max_ms=100,
            fetch_queue_backoff_ms=5,
            queued_min_messages=200_000,
            queued_max_messages_kbytes=64 << 10,
        )
        for view in views:
            self._declare(view)
        self._assign()

    def _declare(self, view: View) -> None:
        partitions = topics.require(self._connection, view.topic)
        (topic_id,) = topics.ids(self._connection, [view.topic]).values()
        state = self._writer.declare(view, topic_id, partitions)
        following = _Following(view, state, partitions)
        self._views[view.name] = following
        self._by_topic.setdefault(view.topic, []).append(following)
        if view.marks is not None:
            self._marks.setdefault(view.marks.topic, {}).setdefault(view.marks.key.encode(), []).append(following)

    def _assign(self) -> None:
        """From the oldest place of the views of each topic on; of marks all: there is one for each query."""
        parts: list[TopicPartition] = []
        for topic, followings in self._by_topic.items():
            for partition in range(len(followings[0].held)):
                parts.append(TopicPartition(topic, partition, min(each.next[partition] for each in followings)))
        for topic in self._marks:
            parts.append(TopicPartition(topic, 0, OFFSET_BEGINNING))
        self._consumer.assign(parts)

    def poll(self, timeout: float = 1.0) -> bool:
        messages: list[Message] = self._consumer.consume(_MESSAGES, timeout)
        for message in messages:
            error = message.error()
            if error is not None:
                self._note(message, error)
            elif message.topic() in self._marks:
                self._mark(message)
            else:
                self._take(message)
        return self._commit()

    def _note(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:  # pyright: ignore[reportPrivateUsage]
            if message.topic() in self._marks:
                self._without_marks(str(message.topic()))
            # Behind the last record there may be offsets without one: of transactions, or of records that were compacted.
            for following in self._by_topic.get(str(message.topic()), ()):
                partition, end = int(message.partition() or 0), int(message.offset() or 0)
                following.next[partition] = max(following.next[partition], end)
                following.ended[partition] = True
        elif not error.retriable():
            raise BrokerError(f"following {message.topic()} failed: {error.str()}", fix="headrace status")

    def _without_marks(self, topic: str) -> None:
        """Nothing has been written yet: the view is empty, and all there is."""
        for followings in self._marks[topic].values():
            for following in followings:
                if not following.filled and not following.marks:
                    following.marks.append({})

    def _take(self, message: Message) -> None:
        _, time = message.timestamp()
        partition, offset = int(message.partition() or 0), int(message.offset() or 0)
        key: Any = message.key()
        value: Any = message.value()
        for following in self._by_topic[str(message.topic())]:
            following.take(partition, offset, time, key, value)

    def _mark(self, message: Message) -> None:
        key: Any = message.key()
        for following in self._marks[str(message.topic())].get(key, ()):
            headers: Any = message.headers() or ()
            text = next((value for name, value in headers if name == ENDS), None)
            if text is None:
                continue
            found: dict[str, int] = json.loads(text)
            topic = following.view.topic
            ends = {int(p.rpartition("/")[2]): end for p, end in found.items() if p.rpartition("/")[0] == topic}
            if ends:
                following.marked(ends)

    def _commit(self) -> bool:
        """One commit for all views that have reached a batch's end."""
        visible = False
        while self._step():
            visible = True
        for following in self._views.values():
            self._hold(following)
        return visible

    def _step(self) -> bool:
        done = False
        for following in self._views.values():
            target = following.target()
            if target is None:
                continue
            if following.reached(target):
                self._finish(following, target)
                done = True
            elif not following.filled and following.has(target):
                following.drain(self._batch(), target)
                done = True
            elif following.bytes > _HELD:
                following.drain(self._batch(), target)
                following.partly = True
        if not done or any(each.partly for each in self._views.values()):
            return False
        opened, self._opened, self._current = self._opened, ExitStack(), None
        opened.close()
        return True

    def _finish(self, following: _Following, target: list[int]) -> None:
        batch, name = self._batch(), following.view.name
        following.drain(batch, target)
        batch.reached(name, target)
        following.partly = False
        if not following.filled:
            batch.filled(name)
            following.filled = True
        if following.marks:
            following.marks.popleft()

    def _batch(self) -> Batch:
        if self._current is None:
            self._current = self._opened.enter_context(self._writer.commit())
        return self._current

    def _hold(self, following: _Following) -> None:
        """Stops reading what no mark covers yet, if it is much; reads on when a mark has come."""
        full = following.bytes > _HELD and following.target() is None
        if full != following.paused:
            parts = [TopicPartition(following.view.topic, partition) for partition in range(len(following.held))]
            (self._consumer.pause if full else self._consumer.resume)(parts)
            following.paused = full

    def lag(self, view: str) -> int:
        """How many records of its topic are not in it yet; offsets without records count too."""
        following, total = self._views[view], 0
        place = self._writer.states[view].place
        for partition in range(len(following.held)):
            _, end = self._consumer.get_watermark_offsets(TopicPartition(following.view.topic, partition), cached=True)
            total += max(end - place[partition], 0) if end >= 0 else 0
        return total

    def close(self) -> None:
        """What is not committed yet is read again by the next one."""
        self._current = None
        self._opened.__exit__(InterruptedError, InterruptedError(), None)
        self._consumer.close()
