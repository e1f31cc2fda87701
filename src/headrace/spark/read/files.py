"""Records of files: Spark's file source says which files, the kernel's formats where in the file (kernel/file)."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from headrace.config import size
from headrace.errors import SourceError
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.plan.format import Format
from headrace.plan.nodes import Read
from headrace.plan.sql.schema import ddl
from headrace.sources.files import Files
from headrace.spark import jvm, storage
from headrace.spark.columns import column
from headrace.spark.formats.codec import BAD
from headrace.spark.read.input import Input

_PLACE = "_offset bigint"
_REPLACED = "replaced.json"
_APPENDED = 1


@dataclass(slots=True)
class FilesInput(Input):
    """The folder of a source, as it is at each call."""

    reads = Files

    @property
    def source(self) -> Files:
        return cast("Files", self.read.source)

    def prepare(self, written: Collection[str]) -> None:
        # A path of this machine needs no Spark.
        if "://" in self.source.folder:
            return
        if not os.path.exists(self.source.folder):
            raise self._missing()
        if (link := _loop(self.source.folder)) is not None:
            raise SourceError(
                f"{link} is a link to a folder that it is in: every file below would be read again and again",
                where=self.read.where,
                fix=f"remove the link: rm {shlex.quote(link)}",
            )

    def check(self, spark: SparkSession, checkpoint: str, *, first: bool) -> Sequence[str]:
        folder, names = self.source.folder, self.source.names
        self._require(spark)
        match jvm.folder_problem(spark, folder, checkpoint, _accepted(spark, folder, checkpoint, first=first)):
            case ("changed", file):
                raise SourceError(
                    f"the file {file} changed after it was read; its new rows would be missed",
                    where=self.read.where,
                    fix="put the new rows into a new file, and remove this one",
                )
            case ("written", file, time):
                raise SourceError(
                    f"the file {file} changed after its rows were written, and before their batch was noted as done",
                    where=self.read.where,
                    fix="bring it back as it was, and put new rows into a new file; then, so that it has its time again: "
                    f"touch -d @{int(time) / 1000:.3f} {shlex.quote(file.removeprefix('file:'))}",
                )
            case (_, file, *_):
                raise SourceError(
                    f"the file {file} vanished before it was read",
                    where=self.read.where,
                    fix="put it back; a file may be removed once its batch is committed",
                )
            case _:
                pass
        if not first or (there := jvm.folder_names(spark, folder, names or "*")) is None:
            return ()
        if names is not None and there:
            raise SourceError(
                f"no file in {folder} matches {names!r}", where=self.read.where, fix=f"there are: {', '.join(there)}"
            )
        return (f"{self.source.title}: there are no files yet; they are read as they arrive",)

    @classmethod
    def in_memory(cls, records: DataFrame, read: Read) -> DataFrame:
        """The testing kit's records are JSON, whatever the files are."""
        value = F.col("value")
        match read.format:
            case Csv():
                cells = ", ".join(f"`{name.replace('`', '``')}` string" for name, _ in read.fields)
                row, cause = _parsed(value, cells)
                value = F.struct(*(row.getField(name).alias(name) for name, _ in read.fields), cause.alias(BAD))
            case Parquet():
                row, cause = _parsed(value, ddl(read.fields))
                value = F.when(cause.isNull(), row)
            case _:
                pass
        return records.withColumn("value", value)

    def records(self, spark: SparkSession, *, realtime: bool = False) -> DataFrame:
        self._require(spark)
        names, text = [name for name, _ in self.read.fields], StringType()
        reader = spark.readStream.options(
            # Names of folders such as day=1 are not read as columns.
            recursiveFileLookup="true",
            maxBytesPerTrigger=str(size(self.config.batch_bytes)),
            # A file counts as read for ever, however old it is.
            maxFileAge="36500d",
        )
        if self.source.names is not None:
            reader = reader.option("pathGlobFilter", self.source.names)
        options = recipe(self.source.format, names)
        jvm.register_files(spark, self.source.places, options)
        reader = reader.format(options["format"]).options(**options)
        match self.source.format:
            case Csv():
                cells = StructType()
                for name in names:
                    cells = cells.add(name, text)
                rows = reader.schema(cells.add(BAD, text).add("_offset", LongType())).load(self.source.folder)
                return _records(rows, F.struct(*map(column, names), BAD), F.col("_offset"))
            case Parquet():
                rows = reader.schema(ddl(self.read.fields)).load(self.source.folder)
                return _records(rows, F.struct(*map(column, names)), F.col("_metadata.row_index"))
            case _:
                rows = reader.schema(f"_raw binary, {_PLACE}").load(self.source.folder)
                return _records(rows, F.col("_raw"), F.col("_offset"))

    def _require(self, spark: SparkSession) -> None:
        try:
            there = jvm.folder_uri(spark, self.source.folder)
        except jvm.Stopped as e:
            raise SourceError(
                f"{self.source.folder} can't be reached: {e}",
                where=self.read.where,
                fix="name a path of this machine, or a URL that Spark supports",
            ) from e
        if there is None:
            raise self._missing()

    def _missing(self) -> SourceError:
        return SourceError(
            f"there is no file or folder {self.source.folder}",
            where=self.read.where,
            fix=f"create it: mkdir -p {self.source.folder}",
        )


def _parsed(value: Column, fields: str) -> tuple[Column, Column]:
    """The columns of a JSON object, and why there are none."""
    row = F.from_json(value.cast("string"), f"{fields}, {BAD} string", {"columnNameOfCorruptRecord": BAD})
    return row, F.when(row.isNull() | row.getField(BAD).isNotNull(), F.lit("not a row of columns")).cast("string")


def _loop(folder: str) -> str | None:
    """A link in the folder to one of its own parents; None if there is none."""
    for place, folders, _ in os.walk(folder):
        real = os.path.realpath(place)
        for path in (os.path.join(place, name) for name in folders):
            if os.path.islink(path) and os.path.commonpath([real, target := os.path.realpath(path)]) == target:
                return path
    return None


def _accepted(spark: SparkSession, folder: str, checkpoint: str, *, first: bool) -> dict[str, int]:
    """The times of files that were replaced before they were read: a damaged one that was repaired, say."""
    place = f"{checkpoint}/{_REPLACED}"
    known: dict[str, int] = json.loads(storage.read_text(spark, place) or "{}")
    # Only before it starts: a running query may be reading them.
    if first and (now := {**known, **jvm.replaced_files(spark, folder, checkpoint)}) != known:
        storage.write_text(spark, place, json.dumps(now, indent=2))
        return now
    return known


def recipe(format: Format, columns: Collection[str]) -> dict[str, str]:
    """Spark's format, and its options."""
    match format:
        case Json():
            return {"format": "headrace.kernel.file.LineFiles"}
        case Csv():
            # Names of columns contain no NUL.
            named = "\0".join(columns)
            return {"format": "headrace.kernel.file.CsvFiles", "delimiter": format.delimiter, "columns": named}
        case _:
            return {"format": "parquet"}


def _records(rows: DataFrame, value: Column, place: Column) -> DataFrame:
    return rows.select(
        F.lit(None).cast("binary").alias("key"),
        value.alias("value"),
        F.col("_metadata.file_path").alias("topic"),
        F.lit(0).alias("partition"),
        place.alias("offset"),
        F.col("_metadata.file_modification_time").alias("timestamp"),
        F.lit(_APPENDED).alias("timestampType"),
    )
