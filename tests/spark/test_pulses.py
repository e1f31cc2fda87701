"""The clock that a query reads beside its topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.spark import jvm

NAME = "app/query/stream/topic"


def test_a_clock_never_goes_back_and_knows_only_what_is_in_its_own_checkpoint(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    records = spark.readStream.schema("value string").text(str(tmp_path / "empty"))
    rows = jvm.with_pulses(records, NAME, "advance").where("advance is not null").select("advance")

    def run(place: str, *times: int) -> list[Any]:
        """The last of each batch's offsets of the clock."""
        query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / place)).start()
        try:
            query.processAllAvailable()
            for time in times:
                jvm.pulse(spark, NAME, time)
                query.processAllAvailable()
            return [report.sources[-1].endOffset for report in query.recentProgress if report.numInputRows]
        finally:
            query.stop()

    assert run("one", 5_000_000, 3_000_000, 9_000_000) == ["5000000", "9000000"]
    assert run("one") == []
    assert jvm.last_pulse(spark, NAME) == 9_000_000
    assert run("two") == []
    assert jvm.last_pulse(spark, NAME) == 0
    assert run("one", 9_500_000) == ["9500000"]
