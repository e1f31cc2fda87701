"""Records of files: Spark's file source says which, the kernel's formats say where in the file (kernel/file)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from headrace.config import Config, size
from headrace.errors import SourceError
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.plan.format import Format
from headrace.plan.nodes import Read
from headrace.plan.schema import ddl
from headrace.sources.files import Files
from headrace.spark import jvm
from headrace.spark.columns import column
from headrace.spark.formats.codec import BAD
from headrace.spark.read.input import Input

_PLACE = "_offset bigint"
_APPENDED = 1


@dataclass(slots=True)
class FilesInput(Input):
    """The folder of a source, as it is when it is asked."""

    read: Read
    source: Files
    config: Config

    def prepare(self, written: Collection[str]) -> None:
        pass

    def identities(self) -> Mapping[str, str]:
        return {}

    def partitions(self) -> int:
        return 0

    def kept(self) -> Mapping[str, int]:
        return {}

    def check(self, spark: SparkSession, checkpoint: str) -> None:
        if jvm.folder_uri(spark, self.source.folder) is None:
            raise self._missing()
        match jvm.folder_problem(spark, self.source.folder, checkpoint):
            case ("changed", file):
                raise SourceError(
                    f"the file {file} changed after it was read, and what is new in it would be missed",
                    where=self.read.where,
                    fix="put the new rows into a new file, and remove this one",
                )
            case (_, file):
                raise SourceError(
                    f"the file {file} vanished before it was read",
                    where=self.read.where,
                    fix="put it back; a file may be removed once its batch is committed",
                )
            case None:
                pass

    def records(self, spark: SparkSession, *, realtime: bool = False) -> DataFrame:
        if (uri := jvm.folder_uri(spark, self.source.folder)) is None:
            raise self._missing()
        names, text = [name for name, _ in self.read.fields], StringType()
        reader = spark.readStream.options(
            # What is in folders such as day=1 is not taken from their names.
            recursiveFileLookup="true",
            maxBytesPerTrigger=str(size(self.config.batch_bytes)),
            # A file counts as read for ever, however old it is.
            maxFileAge="36500d",
        )
        if self.source.names is not None:
            reader = reader.option("pathGlobFilter", self.source.names)
        options = recipe(self.source.format, names)
        jvm.register_folder(spark, uri, options)
        reader = reader.format(options["format"]).options(**options)
        match self.source.format:
            case Csv():
                cells = StructType()
                for name in names:
                    cells = cells.add(name, text)
                rows = reader.schema(cells.add(BAD, text).add("_offset", "bigint")).load(self.source.folder)
                return _records(rows, F.struct(*map(column, names), BAD), F.col("_offset"))
            case Parquet():
                rows = reader.schema(ddl(self.read.fields)).load(self.source.folder)
                return _records(rows, F.struct(*map(column, names)), F.col("_metadata.row_index"))
            case _:
                rows = reader.schema(f"_raw binary, {_PLACE}").load(self.source.folder)
                return _records(rows, F.col("_raw"), F.col("_offset"))

    def _missing(self) -> SourceError:
        return SourceError(
            f"there is no {self.source.folder}", where=self.read.where, fix=f"make it: mkdir -p {self.source.folder}"
        )


def recipe(format: Format, columns: Collection[str]) -> dict[str, str]:
    """Spark's format, and its options."""
    match format:
        case Json():
            return {"format": "headrace.kernel.file.LineFiles"}
        case Csv():
            # No name of a column has a zero in it.
            named = "\0".join(columns)
            return {"format": "headrace.kernel.file.CsvFiles", "delimiter": format.delimiter, "columns": named}
        case _:
            return {"format": "parquet"}


def in_memory(value: Column, source: Read) -> Column:
    """The testing kit's records are JSON, whatever the files are: its value as that of a record of a file."""
    match source.format:
        case Csv():
            cells = ", ".join(f"`{name.replace('`', '``')}` string" for name, _ in source.fields)
            parsed = F.from_json(value.cast("string"), cells)
            bad = F.when(value.isNull() | parsed.isNull(), F.lit("no cells")).cast("string").alias(BAD)
            return F.struct(*(parsed.getField(name).alias(name) for name, _ in source.fields), bad)
        case Parquet():
            return F.from_json(value.cast("string"), ddl(source.fields))
        case _:
            return value


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
