from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headrace import jars
from headrace.errors import SetupError

NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:1")
BOTH = "from headrace import jars; jars.connector_jars(); print(len(jars.broker_jars()))"


class Mirror:
    """A Maven repository on loopback, that serves the files of the user's cache."""

    def __init__(self) -> None:
        self.files = {path.name: path.read_bytes() for path in jars.connector_jars()}
        self.asked: Counter[str] = Counter()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rpartition("/")[2]
                mirror.asked[name] += 1
                body = mirror.files.get(name)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """An empty cache, and a mirror to fill it from."""
    mirror = Mirror()
    settings = tmp_path / "jgo.conf"
    settings.write_text(f"[repositories]\nhere = {mirror.url}\n")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield mirror
    mirror.server.shutdown()
    mirror.server.server_close()


def test_the_connectors_are_six_jars_and_the_broker_has_no_rocksdb() -> None:
    assert len(jars.connector_jars()) == 6
    names = [path.name for path in jars.broker_jars()]
    assert "kafka_2.13-4.3.1.jar" in names
    assert not [name for name in names if "rocksdb" in name or "streams" in name]


def test_the_first_start_fetches_and_the_next_asks_nobody(mirror: Mirror) -> None:
    assert all(path.exists() for path in jars.connector_jars())
    first = mirror.asked.total()
    jars.connector_jars()
    assert first > 0
    assert mirror.asked.total() == first


def test_a_start_without_network_needs_only_the_cache() -> None:
    jars.connector_jars(), jars.broker_jars()
    done = subprocess.run([sys.executable, "-c", BOTH], env={**os.environ, **NOWHERE}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40
    assert done.stderr == ""


def test_a_first_start_without_network_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SetupError, match=r"(?s)can't fetch org\.apache.*proxy does not answer.*fix: check the network"):
        jars.connector_jars()
    assert not list(jars.cache().glob("*.jar"))


def test_a_cached_file_with_another_sum_is_refused(mirror: Mirror) -> None:
    first = jars.connector_jars()[0]
    first.write_bytes(first.read_bytes() + b"!")
    with pytest.raises(SetupError) as refused:
        jars.connector_jars()
    text = str(refused.value)
    assert first.name in text
    assert jars.pins("connector")[0].sha256[:12] in text
    assert f"fix: rm {first}" in text


def test_a_downloaded_file_with_another_sum_never_reaches_the_cache(mirror: Mirror) -> None:
    name = "commons-pool2-2.13.1.jar"
    mirror.files[name] += b"!"
    with pytest.raises(SetupError, match=f"the {name} that came from the registry"):
        jars.connector_jars()
    assert not (jars.cache() / name).exists()


def test_an_artifact_the_registry_lacks_is_named(mirror: Mirror) -> None:
    del mirror.files["kafka-clients-3.9.2.jar"]
    with pytest.raises(SetupError, match=r"can't fetch org.apache.kafka:kafka-clients:3.9.2: .* does not have it"):
        jars.connector_jars()


def test_two_starts_at_once_fetch_each_file_once(mirror: Mirror) -> None:
    program = "from headrace import jars; print(len(jars.connector_jars()))"
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(2)]
    assert [one.communicate()[0].strip() for one in both] == [b"6", b"6"]
    assert all(mirror.asked[pin.filename] == 1 for pin in jars.pins("connector"))
