"""Your own sink: what it gets, what its mark does, and what its failures look like."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from headrace.errors import PlanError, RunError, StateError
from headrace.runtime import failures
from headrace.spark import jvm
from headrace.testing.driver import Driver
from tests.sinks.folder import Folder, numbers
from tests.sinks.pipes import Pipe, Record

Pipes = Callable[..., Pipe]


class Log(hr.sinks.Writer):
    """At least once: it stores no mark."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.rows: list[dict[str, Any]] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.calls.append(f"write {batch.num_rows}")
        self.rows += batch.to_pylist()

    def commit(self, mark: str) -> None:
        self.calls.append("commit")

    def abort(self) -> None:
        self.calls.append("abort")

    def close(self) -> None:
        self.calls.append("close")


class Marked(Log):
    """Exactly once, for as long as this process lives."""

    mark: Any = None

    def begin(self) -> Any:
        self.calls.append("begin")
        return self.mark

    def commit(self, mark: str) -> None:
        super().commit(mark)
        self.mark = mark


class Newest(hr.sinks.Writer):
    """The rows of a table in SQLite."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self) -> str | None:
        # Several threads call it, one at a time.
        self.db = sqlite3.connect(self.path, check_same_thread=False)
        self.db.execute("create table if not exists totals (symbol text primary key, total int)")
        self.db.execute("create table if not exists marks (mark text)")
        return next((mark for (mark,) in self.db.execute("select mark from marks")), None)

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self.db.execute("delete from totals where symbol = ?", [row["symbol"]])
            if row["_op"] == "upsert":
                self.db.execute("insert into totals values (?, ?)", [row["symbol"], row["total"]])

    def commit(self, mark: str) -> None:
        self.db.execute("delete from marks")
        self.db.execute("insert into marks values (?)", [mark])
        self.db.commit()

    def abort(self) -> None:
        self.db.rollback()

    def close(self) -> None:
        self.db.close()


def counted(*ns: int) -> list[Record]:
    return [(str(n), {"n": n}) for n in ns]


def ns(app: hr.App, sink: Any) -> hr.App:
    app.stream("ns", schema="n int").to(sink)
    return app


def test_each_batch_is_there_once_even_after_a_crash(pipe: Pipes, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    running = pipe(ns(hr.App("own"), hr.sinks.custom(Folder(folder), name="folder")))
    running.feed("ns", counted(1, 2, 3)).run().crash()
    running.feed("ns", counted(4, 5)).run().crash()
    running.feed("ns", counted(6)).run()
    assert sorted(numbers(folder)) == [1, 2, 3, 4, 5, 6]


def test_a_writer_without_marks_gets_the_last_batch_again_after_a_crash(pipe: Pipes) -> None:
    log = Log()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log")))
    running.feed("ns", counted(1)).run().stop()
    running.feed("ns", counted(2)).run().crash()
    running.feed("ns", counted(3)).run()
    assert sorted(row["n"] for row in log.rows) == [1, 2, 2, 3]


def test_begin_comes_first_and_commit_after_the_rows(pipe: Pipes) -> None:
    log = Marked()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log")), partitions=1)
    running.feed("ns", counted(1, 2)).run().stop()
    running.feed("ns", counted(3)).run().stop()
    once = ["begin", "write 2", "commit", "close"]
    assert log.calls == [*once, "begin", "write 1", "commit", "close"]


def test_a_batch_without_rows_is_not_written(pipe: Pipes) -> None:
    log = Marked()
    app = hr.App("own")
    app.stream("ns", schema="n int").where("n > 5").to(hr.sinks.custom(log, name="log"))
    pipe(app).feed("ns", counted(1)).run().feed("ns", counted(6)).run()
    assert log.calls == ["begin", "write 1", "commit"]


def test_a_large_batch_comes_in_pieces_of_a_bounded_size(pipe: Pipes) -> None:
    log = Marked()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log")), partitions=1)
    running.feed("ns", counted(*range(25_000))).run()
    assert log.calls == ["begin", "write 10000", "write 10000", "write 5000", "commit"]
    assert [row["n"] for row in log.rows] == list(range(25_000))


def test_rows_that_are_large_come_in_smaller_pieces(pipe: Pipes) -> None:
    log = Marked()
    app = hr.App("own")
    app.stream("ns", schema="n int").with_columns(text="repeat('x', 1000000)").to(hr.sinks.custom(log, name="log"))
    pipe(app, partitions=1).feed("ns", counted(*range(20))).run()
    assert log.calls == ["begin", "write 9", "write 9", "write 2", "commit"]
    assert [row["n"] for row in log.rows] == list(range(20))


def test_what_a_writer_keeps_of_a_batch_stays_readable(pipe: Pipes, tmp_path: Path) -> None:
    class Keeping(Log):
        def __init__(self) -> None:
            super().__init__()
            self.kept: list[pa.RecordBatch] = []

        def write(self, batch: pa.RecordBatch) -> None:
            self.kept.append(batch)

    keeping = Keeping()
    pipe(ns(hr.App("own"), hr.sinks.custom(keeping, name="log"))).feed("ns", counted(1)).run().feed("ns", counted(2)).run()
    assert [batch.to_pydict()["n"] for batch in keeping.kept] == [[1], [2]]


def test_columns_have_their_types(pipe: Pipes) -> None:
    log = Log()
    app = hr.App("own")
    stream = app.stream("ns", schema="n int").select(
        d="cast(n as decimal(12,2))", t="timestamp'2024-01-01 00:00:00'", a="array(n, null)", s="struct(n, 'x' as y)", b="n = 1"
    )
    stream.to(hr.sinks.custom(log, name="log"))
    pipe(app).feed("ns", counted(1)).run()
    (row,) = log.rows
    assert str(row["d"]) == "1.00"
    assert row["t"].isoformat() == "2024-01-01T00:00:00+00:00"
    assert (row["a"], row["s"], row["b"]) == ([1, None], {"n": 1, "y": "x"}, True)


def test_a_table_is_kept_in_step_with_its_upserts_and_deletes(pipe: Pipes, tmp_path: Path) -> None:
    file = tmp_path / "totals.db"
    app = hr.App("own")
    trades = app.table("trades", key="id", schema="id int, symbol string, size int")
    trades.key_by("symbol").agg(total="sum(size)").to(hr.sinks.custom(Newest(file), name="totals"))

    def trade(id: int, symbol: str | None, size: int = 0) -> Record:
        return str(id), None if symbol is None else {"id": id, "symbol": symbol, "size": size}

    running = pipe(app)
    running.feed("trades", [trade(1, "A", 10), trade(2, "A", 5), trade(3, "B", 7), trade(4, "C", 1)]).run()
    running.crash().feed("trades", [trade(3, None), trade(2, None), trade(4, "A", 1)]).run()
    running.crash().feed("trades", [trade(5, "B", 2)]).run()
    with sqlite3.connect(file) as db:
        assert db.execute("select * from totals order by symbol").fetchall() == [("A", 11), ("B", 2)]


@pytest.mark.parametrize("verb", ["begin", "write", "commit"])
def test_a_failure_names_the_sink_the_users_line_and_the_writers(pipe: Pipes, verb: str) -> None:
    class Failing(Marked): ...

    def fail(*_: Any) -> None:
        raise ConnectionError("nobody answers")

    setattr(Failing, verb, fail)
    running = pipe(ns(hr.App("own"), hr.sinks.custom(Failing(), name="log"))).feed("ns", counted(1))
    with pytest.raises(RunError) as raised:
        running.run()
    message = str(raised.value)
    assert f"can't write to custom.log: {verb}() failed: ConnectionError: nobody answers (in fail, {__file__}:" in message
    assert "test_custom.py:" in str(raised.value.where)
    assert raised.value.where is not None
    assert ".to(" in raised.value.where.code


def verdict(pipe: Pipes, error: Exception) -> tuple[bool, str, list[str]]:
    class Failing(Marked):
        def write(self, batch: pa.RecordBatch) -> None:
            self.calls.append("write")
            raise error

    writer = Failing()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(writer, name="log"))).feed("ns", counted(1)).cut()
    query = running.start()
    assert not _ended(query)
    failure = jvm.failure(query)
    assert failure is not None
    found = failures.judge(failure, running.spec)
    return found.lasting, str(found.error), writer.calls


def _ended(query: Any) -> bool:
    try:
        return bool(query.awaitTermination(60))
    except Exception:
        return False


def test_after_a_failure_the_rows_are_dropped_and_the_query_tries_again(pipe: Pipes) -> None:
    lasting, _, calls = verdict(pipe, OSError("no route"))
    assert not lasting
    assert calls == ["begin", "write", "abort"]


def test_a_refusal_is_not_tried_again(pipe: Pipes) -> None:
    lasting, message, _ = verdict(pipe, hr.sinks.Refused("the index has no field n", fix="add it"))
    assert lasting
    assert "write() failed: the index has no field n (in write, " in message
    assert message.endswith("fix: add it")


def test_a_mistake_in_the_writer_is_not_tried_again(pipe: Pipes) -> None:
    lasting, message, _ = verdict(pipe, NameError("name 'pg' is not defined"))
    assert lasting
    assert "fix: change the writer" in message


def test_a_mark_that_is_no_text_is_refused(pipe: Pipes) -> None:
    log = Marked()
    log.mark = 7
    with pytest.raises(RunError, match=r"begin\(\) returned a mark of the type int"):
        pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log"))).feed("ns", counted(1)).run()


def test_a_mark_that_was_never_stored_is_refused(pipe: Pipes) -> None:
    log = Marked()
    log.mark = "yesterday"
    with pytest.raises(RunError, match=r"begin\(\) returned a mark that was never stored there: yesterday"):
        pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log"))).feed("ns", counted(1)).run()


def test_a_mark_may_come_back_as_bytes(pipe: Pipes) -> None:
    log = Marked()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log"))).feed("ns", counted(1)).run().crash()
    log.mark = log.mark.encode()
    running.feed("ns", counted(2)).run()
    assert sorted(row["n"] for row in log.rows) == [1, 2]


def test_a_writer_that_lost_its_mark_is_refused_and_repaired(pipe: Pipes) -> None:
    log = Marked()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log"))).feed("ns", counted(1)).run().stop()
    log.mark = None
    running.feed("ns", counted(2))
    with pytest.raises(StateError, match=r"custom\.log holds no results of this query") as raised:
        running.run()
    assert "headrace repair" in str(raised.value)
    assert jvm.repair_sink(running.spark, *running.registered()) == ["the sink custom.log"]
    running.run()
    assert sorted(row["n"] for row in log.rows) == [1, 2]


def test_a_writer_of_another_checkpoint_is_refused_and_repaired(pipe: Pipes, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    pipe(ns(hr.App("own"), hr.sinks.custom(Folder(folder), name="folder"))).feed("ns", counted(1)).run().close()
    other = pipe(ns(hr.App("own"), hr.sinks.custom(Folder(folder), name="folder"))).feed("ns", counted(2))
    with pytest.raises(StateError, match="of another checkpoint"):
        other.run()
    jvm.repair_sink(other.spark, *other.registered())
    other.run()
    assert numbers(folder) == [1, 2]


def test_a_reset_forgets_the_mark_and_deletes_the_rows(pipe: Pipes) -> None:
    class Emptied(Marked):
        def clear(self) -> None:
            self.rows.clear()

    log = Emptied()
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log"))).feed("ns", counted(1)).run().stop()
    name, _ = running.registered()
    jvm.forget_sink(running.spark, name, rows=True)
    assert (log.mark, log.rows) == ("", [])


def test_a_reset_forgets_a_mark_that_was_never_stored(pipe: Pipes) -> None:
    log = Marked()
    log.mark = "yesterday"
    running = pipe(ns(hr.App("own"), hr.sinks.custom(log, name="log")))
    jvm.forget_sink(running.spark, running.registered()[0], rows=False)
    assert log.mark == ""
    running.feed("ns", counted(1)).run()
    assert [row["n"] for row in log.rows] == [1]


def test_rows_can_only_be_deleted_by_a_writer_that_has_clear() -> None:
    (query,) = ns(hr.App("own"), hr.sinks.custom(Marked(), name="log")).queries()
    (sink,) = query.sinks
    assert "again" in sink.reset("keep", query.node)
    with pytest.raises(hr.HeadraceError, match=r"Marked has no clear\(\)"):
        sink.reset("delete", query.node)


def test_describe_says_what_is_at_least_once() -> None:
    assert "at least once: custom.log" in ns(hr.App("own"), hr.sinks.custom(Log(), name="log")).describe()
    assert "at least once" not in ns(hr.App("own"), hr.sinks.custom(Marked(), name="log")).describe()


def test_a_class_is_not_a_writer() -> None:
    with pytest.raises(PlanError, match="Log is a class, not a writer") as raised:
        hr.sinks.custom(Log, name="log")  # type: ignore[arg-type]
    assert "fix: write custom(Log(…), …)" in str(raised.value)


def test_an_object_without_the_methods_is_not_a_writer() -> None:
    with pytest.raises(PlanError, match=r"a list is not a writer: it has no write\(\) and no commit\(\)"):
        hr.sinks.custom([], name="log")  # type: ignore[arg-type]


def test_a_writer_without_commit_can_not_be_made() -> None:
    class Half(hr.sinks.Writer):
        def write(self, batch: pa.RecordBatch) -> None: ...

    with pytest.raises(TypeError, match="commit"):
        Half()  # type: ignore[abstract]


def test_two_sinks_of_one_name_are_refused() -> None:
    app = hr.App("own")
    stream = app.stream("ns", schema="n int")
    stream.to(hr.sinks.custom(Log(), name="log"))
    with pytest.raises(PlanError, match=r"custom\.log is already written at"):
        stream.to(hr.sinks.custom(Log(), name="log"))


def test_two_sinks_with_one_writer_are_refused() -> None:
    app, log = hr.App("own"), Log()
    app.stream("ns", schema="n int").to(hr.sinks.custom(log, name="a"))
    app.stream("more", schema="n int").to(hr.sinks.custom(log, name="b"))
    with pytest.raises(PlanError, match=r"custom\.b has the same writer as custom\.a"):
        app.queries()


def test_delivery_is_the_writers() -> None:
    stream = hr.App("own").stream("ns", schema="n int")
    with pytest.raises(PlanError, match=r"custom\.log is written at least once"):
        stream.to(hr.sinks.custom(Log(), name="log"), delivery="at_least_once")


def test_a_sink_is_not_written_in_real_time_mode() -> None:
    from headrace.plan import realtime

    with pytest.raises(PlanError, match=r"custom\.log is not supported in real-time mode"):
        realtime.queries(ns(hr.App("own"), hr.sinks.custom(Log(), name="log")).queries())


def test_in_the_testing_kit_its_rows_are_read_by_its_label() -> None:
    log = Log()
    with Driver(ns(hr.App("own"), hr.sinks.custom(log, name="log"))) as drive:
        drive.feed("ns", [{"n": 1}]).run()
        assert drive.rows("custom.log") == [{"n": 1}]
    assert log.calls == []
