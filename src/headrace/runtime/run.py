"""`app.run()` and `headrace run`: broker, Spark, topics, checks, queries; then watch until the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace import jars, private
from headrace.broker import connect, embedded, topics
from headrace.broker.client import Connection
from headrace.config import Config
from headrace.effects import outbox
from headrace.effects.dispatch import Dispatcher
from headrace.errors import BrokerError, PlanError, RunError
from headrace.gateways import service as gateways
from headrace.plan import durations, traits
from headrace.plan import realtime as plan_realtime
from headrace.plan.nodes import Read, reads, walk
from headrace.plan.order import waves
from headrace.plan.queries import QuerySpec
from headrace.runtime import display as displays
from headrace.runtime import failures, sharing
from headrace.runtime.checkpoints import gaps, incarnations, ownership, state
from headrace.runtime.checkpoints.ownership import Lease
from headrace.runtime.display import Display
from headrace.runtime.events import Listener, Listeners, Started, Stopped, listening
from headrace.runtime.group import GroupProgress
from headrace.runtime.handle import Run
from headrace.runtime.progress import Total
from headrace.runtime.services import Effects, Service, Services
from headrace.runtime.stop import Interrupted, Stop, Task
from headrace.runtime.supervise import Clock, Job, Supervisor
from headrace.spark import child, ends, jvm, realtime
from headrace.spark.cluster import Cluster, cores
from headrace.spark.compile import Compiled, compile_all, explain
from headrace.spark.read import inputs
from headrace.spark.read.input import Input
from headrace.spark.session import THROUGHPUT, session

if TYPE_CHECKING:
    from headrace.app import App

Mode = Literal["batches", "realtime"]
Say = Callable[[str], None]
_LOOK_SECONDS, _LOOK_SHARE = 5.0, 20


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did, query by query."""

    totals: tuple[Total, ...]
    complete: bool = True
    """False if it was stopped, by a signal or `stop()`."""


def run(
    app: App,
    *,
    until: Literal["now"] | None = None,
    mode: Mode = "batches",
    flags: Mapping[str, Any] | None = None,
    display: Display | None = None,
    on_event: Listener | None = None,
    debug: bool = False,
) -> Summary:
    """Starts it and waits for its end; signals stop it."""
    if listening():
        raise RunError(
            f"{app.name!r} is run by a listener, and the run that it listens to waits for the listener",
            fix="call start() in a listener: it returns at once",
        )
    stop = Stop()
    with stop.signals():
        shown = display or displays.choose(app.name)
        try:
            summary = launch(
                app, until=until, mode=mode, flags=flags, display=shown, on_event=on_event, debug=debug, stop=stop
            ).wait()
        except (KeyboardInterrupt, SystemExit):
            # The second signal.
            child.kill()
            raise
    if until is not None and stop.is_set() and not summary.complete:
        # A program that goes on after it must not take this for done.
        raise SystemExit(stop.exit_code)
    return summary


def launch(
    app: App,
    *,
    until: Literal["now"] | None = None,
    mode: Mode = "batches",
    flags: Mapping[str, Any] | None = None,
    display: Display | None = None,
    on_event: Listener | None = None,
    debug: bool = False,
    stop: Stop | None = None,
) -> Run:
    """Starts an application in a thread. Mistakes in the program or its settings are raised here, the rest by `wait()`."""
    shown = display or displays.Background()
    try:
        specs = _specs(app, until, mode)
        config, stop = Config.load(flags), stop or Stop()
        listeners = Listeners(shown, *([on_event] if on_event else []))
        return Run.of(
            app.name,
            config.state,
            stop,
            listeners,
            body=lambda: _Application(app.name, specs, config, until, mode, listeners, stop, debug).run(),
            close=shown.close,
        )
    except BaseException:
        shown.close()
        raise


def _specs(app: App, until: str | None, mode: str) -> tuple[QuerySpec, ...]:
    if until not in (None, "now"):
        raise PlanError(f"until={until!r} is not known", fix='until is "now" or left out')
    if mode not in ("batches", "realtime"):
        raise PlanError(f"mode={mode!r} is not known", fix='mode is "batches" or "realtime"')
    specs = app.queries()
    if mode == "realtime":
        if until is not None:
            raise PlanError("real-time mode never ends, so it can't run until now", fix="leave one of the two out")
        specs = plan_realtime.queries(specs)
    return specs


@dataclass(frozen=True, slots=True)
class _Application:
    """What holds an application's state, broker and Spark while its queries run."""

    name: str
    specs: Sequence[QuerySpec]
    config: Config
    until: Literal["now"] | None
    mode: Mode
    listeners: Listeners
    stop: Stop
    debug: bool

    def run(self) -> Stopped:
        with (
            ownership.owned(self.config.state, self.name, self.listeners.say) as lock,
            sharing.using(self.name, settings(self.config, self.mode)) as user,
            _using_broker(self.config, self.name),
            ExitStack() as stack,
        ):
            try:
                summary = self._summary(lock, user, stack)
            except Interrupted:
                summary = _nothing(self.specs)
            except jvm.GONE as e:
                if not self.stop.is_set():
                    raise RunError(
                        f"Spark stopped: its process ended ({type(e).__name__})",
                        fix=f"the end of {sharing.log(_log(self.config, self.name))} says more; started again, "
                        "the application resumes where it stopped",
                    ) from e
                # Whoever stops us may well stop all of our processes at once.
                summary = _nothing(self.specs)
        unfinished = self.until is not None and not summary.complete
        return Stopped(self.name, summary, asked=self.stop.is_set(), unfinished=unfinished)

    def _summary(self, lock: int | None, user: sharing.User, stack: ExitStack) -> Summary:
        leases: list[Lease] = []

        def ready(connection: Connection) -> None:
            _prepare(connection, self.config, self.specs)
            if (lease := stack.enter_context(_leased(self.config, connection, self.specs[0]))) is not None:
                leases.append(lease)

        say = self.listeners.say
        spark, connection = start(user, self.config, say, self.mode, stop=self.stop, lock=lock, ready=ready)
        self.listeners(Started(self.name, tuple(spec.name for spec in self.specs), connection.address))
        check = leases[0].check if leases else lambda: None
        runner = _Runner(spark, self.config, connection, self.mode, self.listeners, self.stop, self.debug, check)
        return runner.run(self.specs, self.until)


def settings(config: Config, mode: Mode) -> sharing.Settings:
    return sharing.Settings(mode, config.master, config.driver_memory)


def _nothing(specs: Sequence[QuerySpec]) -> Summary:
    return Summary(tuple(Total(query=spec.name) for spec in specs), complete=False)


def _log(config: Config, name: str) -> Path:
    return config.home / "logs" / f"{name}.log"


def _using_broker(config: Config, name: str) -> AbstractContextManager[None]:
    return embedded.using(config, name) if config.embedded else nullcontext()


def start(
    user: sharing.User,
    config: Config,
    say: Say,
    mode: Mode = "batches",
    *,
    stop: Stop,
    lock: int | None,
    ready: Callable[[Connection], object] = lambda connection: None,
) -> tuple[SparkSession, Connection]:
    """The broker and Spark each take seconds to start, so they start together; `ready` need not wait for Spark."""

    def unless_stopped(text: str) -> None:
        if not stop.is_set():
            say(text)

    Cluster.of(config).check(config.master)
    private.folder(config.home)
    at_once, running = mode == "realtime", child.running()
    more = {"spark.hadoop.headrace.private": config.state, **(realtime.settings(config.master) if at_once else {})}
    log = _log(config, user.app)
    say("starting Spark ...")

    def spark_session() -> SparkSession:
        return session(
            f"headrace-{user.app}",
            master=realtime.master(config.master) if at_once else config.master,
            memory=config.driver_memory,
            jars=tuple(jars.connector_jars()),
            log=log,
            java_options=() if at_once else THROUGHPUT,
            executors=Cluster.of(config),
            more=more,
            held=lock,
        )

    spark = Task(lambda: sharing.session(user, log, spark_session))
    try:
        connection = Task(lambda: connect.connect(config, unless_stopped)).wait(stop)
        ready(connection)
        found = spark.wait(stop)
    except BaseException:
        if not running:
            spark.give_up(partial(sharing.give_up, user))
        raise
    jvm.adopt(found)
    return found, connection


def _prepare(connection: Connection, config: Config, specs: Sequence[QuerySpec]) -> None:
    """What is read must be there, unless the application itself writes it."""
    written = {topic for spec in specs for topic in spec.all_topics}
    for read in dict.fromkeys(source for spec in specs for source in spec.sources):
        inputs.of(read, connection, config).prepare(written)


@contextmanager
def alone(spec: QuerySpec, config: Config, display: Display) -> Generator[tuple[SparkSession, Connection]]:
    """For a command that changes what a query has kept: no run of its application meanwhile."""
    with (
        ownership.owned(config.state, spec.app, display.say) as lock,
        sharing.using(spec.app, settings(config, "batches")) as user,
        ExitStack() as stack,
    ):
        yield start(
            user,
            config,
            display.say,
            stop=Stop(),
            lock=lock,
            ready=lambda connection: stack.enter_context(_leased(config, connection, spec)),
        )


def _leased(config: Config, connection: Connection, spec: QuerySpec) -> AbstractContextManager[Lease | None]:
    """What stands in for a lock where the state is not on this disk."""
    if config.local_state is not None:
        return nullcontext()
    own_topics(connection, spec)
    return Lease(connection, spec.app, spec.marks)


def own_topics(connection: Connection, spec: QuerySpec) -> None:
    """Those that a query's application has for itself."""
    topics.ensure(connection, spec.marks, partitions=1, config={"cleanup.policy": "compact"})
    topics.ensure_dead(connection, spec.dead)


def places(spec: QuerySpec, config: Config, connection: Connection) -> ends.Places:
    """What writing a query exactly once has to know."""
    written = {topic for topic in spec.all_topics if topics.exists(connection, topic)}
    limits = {topic: topics.largest(connection, topic) for topic in written}
    timeout = (durations.parse(config.transaction_timeout) or 0) // 1000
    return ends.Places(connection, limits, timeout, outbox.path(config.state, spec.app) if spec.effects else None)


@dataclass(slots=True)
class _Runner:
    spark: SparkSession
    config: Config
    connection: Connection
    mode: Mode
    listeners: Listeners
    stop: Stop
    debug: bool
    check_owner: Callable[[], None] = lambda: None
    """Raises if the state is not ours any more."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """Of all topics of the queries, as they were compared with the checkpoints."""
    _opened: dict[Read, Input] = field(default_factory=dict[Read, Input])
    _next_look: float = field(default_factory=lambda: time.monotonic() + _LOOK_SECONDS)

    def run(self, specs: Sequence[QuerySpec], until: Literal["now"] | None) -> Summary:
        at_once = self.mode == "realtime"
        compiled = {query.spec.name: query for query in compile_all(specs, self._read, realtime=at_once)}
        layouts = {name: (query.layouts, query.types) for name, query in compiled.items()}
        jobs = [self._job(compiled[spec.name], until) for spec in specs]
        root = self.config.state
        self.ids.update(self._topic_ids(specs))
        for note in state.check(self.spark, root, specs, layouts, self.ids):
            self.say(note)
        self._topics(specs)
        # Those that were there before keep the ids that were compared with the checkpoint.
        self.ids.update({**self._topic_ids(specs), **self.ids})
        state.record(self.spark, root, specs, layouts, self.ids)
        if self.mode == "realtime":
            self._realtime(specs)
        self._check_outbox(compiled.values())
        for note in self._check_inputs(specs, first=True):
            self.say(note)
        try:
            with (
                Services(self._services(specs), self.stop) as services,
                incarnations.Watch(partial(self._topic_ids, specs), specs, self.ids) as watch,
            ):
                if until is not None:
                    services.drain("feeds")
                self._supervise(
                    specs, jobs, until, lambda: (services.check(), watch.check(), self._look(specs), self.check_owner())
                )
                if until is not None:
                    # A query without new records has compared nothing.
                    watch.look()
                    services.drain("follows")
        finally:
            self._close(specs)
        return Summary(tuple(job.total for job in jobs), complete=all(job.done for job in jobs))

    def _supervise(
        self, specs: Sequence[QuerySpec], jobs: Sequence[Job], until: Literal["now"] | None, check: Callable[[], object]
    ) -> None:
        def watch() -> None:
            self._watch()
            check()

        if self.stop.is_set():
            return
        self.listeners.first(GroupProgress(self.connection, specs, self.say))
        for wave in waves(specs) if until else [specs]:
            Supervisor(
                [job for job in jobs if job.spec in wave],
                self.listeners,
                self.stop,
                before_restart=self._reconnect,
                watch=watch,
                clock=Clock(partial(jvm.pulse, self.spark), partial(jvm.last_pulse, self.spark)),
                debug=self.debug,
            ).run()
            if self.stop.is_set():
                break

    def _close(self, specs: Sequence[QuerySpec]) -> None:
        """Lets go of the connections of the ends, unless Spark is gone."""
        with suppress(*jvm.GONE):
            for spec in specs:
                jvm.unregister_sink(self.spark, spec.id)
                jvm.forget_topics(self.spark, spec.id)

    def _check_outbox(self, queries: Iterable[Compiled]) -> None:
        """Before anything is sent: an outbox from an older copy would send what was sent since a second time."""
        for query in queries:
            found = places(query.spec, self.config, self.connection)
            if found.outbox is None or not found.outbox.exists():
                continue
            ends.register(query, found)
            try:
                jvm.begin_sink(self.spark, query.spec.id, state.location(self.config.state, query.spec))
            except jvm.Stopped as e:
                verdict = failures.judge(e.failure, query.spec)
                # What may get better is the supervisor's.
                if verdict.lasting:
                    raise verdict.error from e
            finally:
                jvm.unregister_sink(self.spark, query.spec.id)

    def _services(self, specs: Sequence[QuerySpec]) -> list[Service]:
        """What runs beside these queries."""
        feeds = dict.fromkeys(feed for spec in specs for read in spec.sources if (feed := read.source.feeds) is not None)
        services: list[Service] = [gateways.Service(specs[0].app, feed, self.connection, say=self.say) for feed in feeds]
        if effects := [effect for spec in specs for effect in spec.effects]:
            services.append(Effects(Dispatcher(outbox.path(self.config.state, specs[0].app), effects, say=self.say)))
        return services

    def _look(self, specs: Sequence[QuerySpec]) -> None:
        begun = time.monotonic()
        if begun > self._next_look:
            self._check_inputs(specs, first=False)
            # Where there is much to look at, it is not to take all of the time.
            self._next_look = time.monotonic() + max(_LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - begun))

    def _check_inputs(self, specs: Sequence[QuerySpec], *, first: bool) -> list[str]:
        """What the user should know of the sources."""
        asked = [(self._input(read), state.location(self.config.state, spec)) for spec in specs for read in spec.sources]
        notes = [note for found, place in asked for note in found.check(self.spark, place, first=first)]
        return list(dict.fromkeys(notes))

    def say(self, text: str) -> None:
        self.listeners.say(text)

    def _topic_ids(self, specs: Sequence[QuerySpec]) -> dict[str, str]:
        own = topics.ids(self.connection, {topic for spec in specs for topic in incarnations.written(spec)})
        for read in self._inputs(specs).values():
            own.update(read.identities())
        return own

    def _inputs(self, specs: Sequence[QuerySpec]) -> dict[Read, Input]:
        return {source: self._input(source) for spec in specs for source in spec.sources}

    def _input(self, read: Read) -> Input:
        if read not in self._opened:
            self._opened[read] = inputs.of(read, self.connection, self.config)
        return self._opened[read]

    def _topics(self, specs: Sequence[QuerySpec]) -> None:
        """What is written is created."""
        written = {topic: spec for spec in specs for topic in spec.all_topics}
        for note in self._short_histories(specs, written):
            self.say(note)
        for topic, spec in written.items():
            if topics.ensure(self.connection, topic, config=_topic_config(spec) if topic in spec.topics else {}):
                self.say(f"created the topic {topic}")
        # Those that it has made just now, too.
        for read in self._inputs(specs).values():
            read.prepare(())
        own_topics(self.connection, specs[0])

    def _short_histories(self, specs: Sequence[QuerySpec], written: Collection[str]) -> Iterator[str]:
        """A window that is longer than its topic remembers can't be computed a second time."""
        for node in (node for spec in specs for node in walk(spec.node)):
            if (window := traits.of(node).window) is None:
                continue
            opened = [self._input(read) for read in reads(node)]
            for topic, kept in {name: kept for found in opened for name, kept in found.kept().items()}.items():
                if topic not in written and window.size > kept * 1000:
                    yield (
                        f"the window at {node.where.file}:{node.where.line} is longer than the topic {topic!r} keeps its "
                        f"records ({durations.text(kept * 1000)}): without its state it could not be computed again\n"
                        f"  fix: lengthen the topic's retention.ms"
                    )

    def _realtime(self, specs: Sequence[QuerySpec]) -> None:
        """All slots are held at once and for long: say how many, and that news of them are rare."""
        partitions = {read: found.partitions() for read, found in self._inputs(specs).items()}
        needed = realtime.slots(specs, partitions, cores(self.config.master))
        realtime.check_slots(self.spark, needed)
        every = durations.text(self._realtime_batch())
        self.say(f"real-time mode: immediate results, a checkpoint and progress every {every}; {needed} Spark slots")

    def _realtime_batch(self) -> int:
        """In microseconds."""
        return durations.parse(self.config.realtime_batch) or 0

    def _read(self, source: Read) -> DataFrame:
        return self._input(source).records(self.spark, realtime=self.mode == "realtime")

    def _job(self, query: Compiled, until: Literal["now"] | None) -> Job:
        at_once, spec = self.mode == "realtime", query.spec
        place = state.location(self.config.state, spec)
        for note in gaps.register(self.spark, spec, place):
            self.say(note)

        def start() -> StreamingQuery:
            writer = self._writer(query).queryName(spec.id).option("checkpointLocation", place)
            if self._by_kernel(spec):
                for note in jvm.begin_sink(self.spark, spec.id, place):
                    self.say(failures.cache_note(note, spec))
            try:
                if at_once:
                    return realtime.trigger(writer, self._realtime_batch()).start()
                return writer.trigger(availableNow=True).start() if until else writer.start()
            except PySparkException as e:
                raise RunError(f"query {spec.name!r} did not start: {explain(e)}", where=spec.where) from e

        return Job(spec, start, partial(self._oversized, query))

    def _writer(self, query: Compiled) -> DataStreamWriter:
        spec = query.spec
        ends.register(query, places(spec, self.config, self.connection))
        ids = {topic: id for topic, id in self.ids.items() if incarnations.of(spec, topic)}
        jvm.expect_topics(self.spark, spec.id, self.connection.java(), ids, planned=not self._by_kernel(spec))
        for files in query.spec.spark_writers:
            return ends.files(query, files)
        if self._by_kernel(query.spec):
            return ends.exactly_once(query)
        return ends.at_least_once(query, self.connection, linger_ms=0 if self.mode == "realtime" else 5)

    def _by_kernel(self, spec: QuerySpec) -> bool:
        """Whether the kernel's sink writes it."""
        return self.mode == "batches" and spec.delivery == "exactly_once" and not spec.spark_writers

    def _oversized(self, query: Compiled, batch: int) -> int:
        """Where another sink wrote the rows of a batch, its dead letters are written now."""
        if query.dead_letters is not None and not self._by_kernel(query.spec):
            try:
                jvm.bury(self.spark, query.spec.id, batch)
            except RunError as e:
                # They are kept; the next batch tries again.
                self.say(f"query {query.spec.name!r}: {e.message}")
        return 0 if query.dead_letters is None else query.dead_letters.oversized(batch)

    def _watch(self) -> None:
        """Clients wait minutes for a broker that is gone; the embedded one is ours to start again at once."""
        if self.config.embedded and not embedded.status(self.config).running:
            self.say("the embedded broker has stopped: starting it again")
            embedded.revive(self.config, self.say)

    def _reconnect(self) -> None:
        """A broker that can't be reached is the likeliest cause of a failure."""
        try:
            bring_back = embedded.revive if self.config.embedded else connect.resolve
            address = bring_back(self.config, self.say)
        except BrokerError as e:
            raise RunError(e.message, fix=e.fix) from e
        if address != self.connection.address:
            raise RunError(
                f"the broker came back at {address}, not {self.connection.address}", fix="start the application again"
            )


def _topic_config(spec: QuerySpec) -> dict[str, str]:
    """Of a table's topic the log keeps the newest record of each key; of one by windows, as long as of any other topic."""
    if spec.node.kind != "table" or not spec.node.key:
        return {}
    windows = any(traits.of(node).window is not None for node in walk(spec.node))
    return {"cleanup.policy": "compact,delete" if windows else "compact"}
