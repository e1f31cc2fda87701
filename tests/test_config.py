from __future__ import annotations

from pathlib import Path

import pytest

from headrace.broker.client import Connection
from headrace.config import MASK, Config
from headrace.errors import ConfigError

FILE = """\
# the project
broker = "one:9092"
master = "spark://m:7077"
batch = 5000

[kafka]
security.protocol = "SASL_SSL"
"sasl.mechanism" = "SCRAM-SHA-512"
sasl.username = "me"
"""


def load(tmp_path: Path, file: str | None = None, flags: dict[str, str | None] | None = None, **environ: str) -> Config:
    if file is not None:
        (tmp_path / "headrace.toml").write_text(file)
    return Config.load(flags or {}, cwd=tmp_path, environ=environ)


@pytest.mark.parametrize("form", ["file://{}/s", "file:{}/s", "FILE://{}/s", "file://localhost{}/s", "{}/s", "s"])
def test_a_url_of_this_disk_is_the_folder_it_names(form: str, tmp_path: Path) -> None:
    state = form.format(tmp_path)
    assert Config.load({"state": state}, cwd=tmp_path, environ={}).state == f"{tmp_path}/s"
    assert Config.load({}, cwd=tmp_path, environ={"HEADRACE_STATE": state}).state == f"{tmp_path}/s"
    (tmp_path / "headrace.toml").write_text(f'state = "{state}"')
    assert Config.load({}, cwd=tmp_path, environ={}).state == f"{tmp_path}/s"


def test_other_urls_stay_what_they_are_and_a_file_of_another_host_is_refused(tmp_path: Path) -> None:
    assert Config.load({"state": "hdfs://a/b"}, cwd=tmp_path, environ={}).state == "hdfs://a/b"
    with pytest.raises(ConfigError, match="names a host"):
        Config.load({"state": "file://other/x"}, cwd=tmp_path, environ={})


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert (config.broker, config.port, config.master) == ("embedded", 9092, "local[*,4]")
    assert config.root == tmp_path
    assert config.home == tmp_path / ".headrace"
    assert config.state == str(tmp_path / ".headrace" / "state")
    assert set(config.origins.values()) == {"default"}


def test_a_flag_beats_the_environment_beats_the_file(tmp_path: Path) -> None:
    file = 'broker = "one:9092"\nmaster = "local[1]"\nbatch = 7\n'
    config = load(
        tmp_path, file, {"broker": "three:9092", "master": None}, HEADRACE_BROKER="two:9092", HEADRACE_MASTER="local[2]"
    )
    assert (config.broker, config.origins["broker"]) == ("three:9092", "flag --broker")
    assert (config.master, config.origins["master"]) == ("local[2]", "HEADRACE_MASTER")
    assert (config.batch, config.origins["batch"]) == (7, "headrace.toml:3")
    assert config.origins["driver_memory"] == "default"


def test_the_file_is_found_in_a_parent_and_its_folder_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "headrace.toml").write_text('state = "here"\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    config = Config.load({}, cwd=tmp_path / "a" / "b", environ={})
    assert config.root == tmp_path
    assert config.state == str(tmp_path / "here")


def test_a_state_url_stays_as_it_is(tmp_path: Path) -> None:
    assert load(tmp_path, HEADRACE_STATE="s3a://bucket/state").state == "s3a://bucket/state"


def test_kafka_settings_know_their_line_in_each_way_of_writing_them(tmp_path: Path) -> None:
    config = load(tmp_path, FILE, HEADRACE_KAFKA_SASL_PASSWORD="s3cret")
    origins = {s.name: s.origin for s in config.settings()}
    assert origins["kafka.security.protocol"] == "headrace.toml:7"
    assert origins["kafka.sasl.mechanism"] == "headrace.toml:8"
    assert origins["kafka.sasl.password"] == "HEADRACE_KAFKA_SASL_PASSWORD"


def test_a_secret_is_masked_wherever_it_is_shown(tmp_path: Path) -> None:
    config = load(tmp_path, FILE, HEADRACE_KAFKA_SASL_PASSWORD="s3cret")
    assert {s.name: s.value for s in config.settings()}["kafka.sasl.password"] == MASK
    assert "s3cret" not in repr(config) + repr(config.connection("x:1")) + repr(config.settings())


def test_user_and_password_reach_both_kinds_of_client(tmp_path: Path) -> None:
    connection = load(tmp_path, FILE, HEADRACE_KAFKA_SASL_PASSWORD='a"b\\c').connection("one:9092")
    assert connection.librdkafka()["sasl.password"] == 'a"b\\c'
    assert connection.spark() == {
        "kafka.bootstrap.servers": "one:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="me" password="a\\"b\\\\c";',
    }


def test_a_jaas_line_reaches_librdkafka_as_user_and_password() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\\"b";'
    settings = Connection("x:1", {"sasl.jaas.config": jaas}).librdkafka()
    assert (settings["sasl.username"], settings["sasl.password"]) == ("me", 'a"b')
    assert "sasl.jaas.config" not in settings


def test_pem_files_reach_java_by_content_and_librdkafka_by_name(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").write_text(name.upper())
    file = """
broker = "one:9093"
[kafka]
security.protocol = "SSL"
ssl.ca.location = "ca.pem"
ssl.certificate.location = "cert.pem"
ssl.key.location = "key.pem"
ssl.endpoint.identification.algorithm = "none"
"""
    connection = load(tmp_path, file).connection("one:9093")
    assert connection.librdkafka()["ssl.ca.location"] == str(tmp_path / "ca.pem")
    java = connection.java()
    assert java["ssl.truststore.certificates"] == "CA"
    assert (java["ssl.keystore.certificate.chain"], java["ssl.keystore.key"]) == ("CERT", "KEY")
    assert java["ssl.endpoint.identification.algorithm"] == ""


def test_the_embedded_broker_gets_no_kafka_settings(tmp_path: Path) -> None:
    config = load(tmp_path, FILE, {"broker": "embedded"}, HEADRACE_KAFKA_SASL_PASSWORD="p")
    assert config.connection("127.0.0.1:9092").java() == {"bootstrap.servers": "127.0.0.1:9092"}


@pytest.mark.parametrize(
    ("file", "environ", "says"),
    [
        ("brokr = 'x:1'", {}, r"headrace.toml:1: there is no setting brokr; did you mean broker\?"),
        ("[kafka]\nsasl.user = 'x'", {}, r"headrace.toml:2: there is no Kafka setting sasl.user; did you mean sasl.username\?"),
        ("", {"HEADRACE_KAFKA_GROUP_ID": "x"}, r"HEADRACE_KAFKA_GROUP_ID: there is no Kafka setting group.id"),
        ("port = 70000", {}, r"port is '70000' \(headrace.toml:1\)\n  fix: set it to a port"),
        (
            "",
            {"HEADRACE_BROKER": "localhost"},
            r"broker is 'localhost' \(HEADRACE_BROKER\)\n  fix: set it to embedded or host:port",
        ),
        ("driver_memory = 'much'", {}, r"driver_memory is 'much'"),
        ("broker = [1]", {}, r"broker is \[1\]"),
        ("broker = ", {}, r"is not TOML"),
        ("[kafka]\nsasl.username='x'", {}, r"sasl.username is set \(headrace.toml:2\) without sasl.password"),
        ("[kafka]\nsasl.mechanism='GSSAPI'", {}, r"sasl.mechanism is GSSAPI"),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(tmp_path: Path, file: str, environ: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(tmp_path, file, **environ)


def test_several_brokers_and_ipv6_are_addresses(tmp_path: Path) -> None:
    assert load(tmp_path, HEADRACE_BROKER="a:1,b:2").broker == "a:1,b:2"
    assert load(tmp_path, HEADRACE_BROKER="[::1]:9092").broker == "[::1]:9092"
