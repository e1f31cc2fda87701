"""Reads a source that the user wrote, from the topic that it fills."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from headrace.gateways import service
from headrace.sources.custom import Custom
from headrace.spark.read.kafka import KafkaInput


@dataclass(slots=True)
class CustomInput(KafkaInput):
    reads = Custom

    def prepare(self, written: Collection[str]) -> None:
        service.prepare(cast("Custom", self.read.source).feeds, self.connection)
        KafkaInput.prepare(self, written)
