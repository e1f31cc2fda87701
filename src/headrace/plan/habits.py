"""Names that people bring along from PySpark, pandas, Kafka Streams, Flink and Faust, and what to write here instead."""

from __future__ import annotations

_WHERE = 'write where("price > 10")'
_KEY_BY = 'write key_by("symbol")'
_UDF = 'mark the function with @hr.udf("double") and call it by name: with_columns(fee="fee(price)")'
_WITH = 'write with_columns(value="price * qty")'
_SELECT = 'write select("symbol", "price * qty as value")'
_RENAME = 'write select("price as cost", …)'
_EXPLODE = 'write explode("split(text, \' \')", name="word")'
_MERGE = "write one.merge(other)"
_TO = 'write to("topic"), or to(hr.sinks.postgres(…)) and the like'
_CALL = "write to(hr.sinks.call(function)): it is called once for each row"
_SHOW = 'write preview(): a DataFrame of pandas; or to("out"), and hr.read("out", app=app) or headrace peek out --follow'
_DEDUPE = 'write dedupe("id", within="1 hour")'
_AGG = 'write agg(total="sum(price)", n="count(*)")'
_WINDOW = 'write window(hr.tumbling("5 minutes")).agg(n="count(*)")'
_LATENESS = 'say it where the stream is read: app.stream("trades", …, time="at", lateness="10 seconds")'
_JOIN = 'write join(other, on="id", how="left")'
_SORT = 'a stream has no end to sort at; for the largest of each key write agg(top="max_by(symbol, price)")'
_NULLS = 'write where("price is not null"), or with_columns(price="coalesce(price, 0)")'
_RUN = "headrace run app.py runs it, or app.run()"
_SPLIT = 'write split("qty > 100"): one stream for each condition, and one for the rest'
_COLUMNS = "its columns are in .columns; headrace describe app.py draws all of it"

_ROWS = {
    _WHERE: "filter filterNot filter_not query loc limit",
    _KEY_BY: "group_by groupBy groupby groupByKey group_by_key keyBy keyed partition_by partitionBy rekey selectKey select_key "
    "set_index",
    _UDF: "map mapValues map_values mapPartitions mapInPandas mapInArrow map_rows process transform transformWithState",
    _WITH: "withColumn with_column withColumns assign mutate extend add_column",
    _SELECT: "selectExpr select_expr project with_only",
    _RENAME: "rename withColumnRenamed withColumnsRenamed with_column_renamed",
    _EXPLODE: "flatMap flat_map flatMapValues flat_map_values",
    _MERGE: "union unionAll union_all unionByName union_by_name concat append",
    _TO: "sink sink_to sinkTo to_topic toTopic to_kafka to_sql to_csv to_parquet write writeStream write_stream writeTo "
    "produce publish send into output through",
    _CALL: "foreach for_each forEach foreachBatch foreach_batch foreachPartition subscribe each",
    _SHOW: "show print display head tail take first collect toPandas to_pandas peek sample",
    _DEDUPE: "distinct drop_duplicates dropDuplicates dropDuplicatesWithinWatermark deduplicate unique",
    _AGG: "aggregate aggregateByKey reduce reduceByKey reduce_by_key fold sum mean avg min max std nunique value_counts",
    _WINDOW: "windowBy window_by windowedBy windowed_by windowAll tumbling tumbling_window hopping hopping_window sliding "
    "sliding_window session session_window rolling resample",
    _LATENESS: "withWatermark with_watermark watermark assign_timestamps assign_timestamps_and_watermarks allowed_lateness",
    _JOIN: "leftJoin left_join outerJoin outer_join innerJoin inner_join crossJoin lookup enrich",
    _SORT: "sort orderBy order_by sort_values sort_by sortBy nlargest rank",
    _NULLS: "dropna fillna na isna notna",
    _RUN: "run start execute awaitTermination await_termination",
    _COLUMNS: "schema dtypes printSchema print_schema describe explain info",
    _SPLIT: "branch partition route",
    'name the query where it is written: to("out", name="totals")': "alias name query_name queryName named",
}

_AS_TABLE = 'write as_table(key="id")'
_CHANGES = "write changes(): a stream of inserts, updates and deletes"
_TABLES = {
    _AS_TABLE: "toTable to_table upsert latest",
    _CHANGES: "toStream to_stream toRetractStream toChangelogStream to_changelog_stream",
}
_TABLE_FIRST = 'make it a table first: as_table(key="id").changes()'
_EVENTS_FIRST = "that is for streams: do it before the stream becomes a table, or on changes(), which is a stream"
_KEYED = "a table has one row for each key already; key_by() puts them into groups"
_NOT_FOR_TABLES = {
    _MERGE: _JOIN,
    _SPLIT: _WHERE,
    _EXPLODE: _EVENTS_FIRST,
    _WINDOW: _EVENTS_FIRST,
    _DEDUPE: _KEYED,
    _AS_TABLE: _KEYED,
}
_VERBS = "columns key where select with_columns drop explode apply merge join as_table split dedupe key_by window changes to"

_APP = {
    'write app.stream("trades", schema="symbol string, price double")': "topic read readStream read_stream source from_topic "
    "from_source add_source from_kafka input subscribe dataframe kstream builder",
    'write app.table("prices", key="symbol", schema="symbol string, price double")': "ktable globalTable global_table",
    "write app.run(), or headrace run app.py": "execute main awaitTermination await_termination",
    'a stream is written by itself: trades.to("topic")': "to sink write add_sink",
    "headrace describe app.py draws it, or app.describe()": "show topology explain plan draw",
}

_SQL = 'expressions are SQL text: where("price > 10"), with_columns(value="price * 2")'
_MODULE = {
    'write hr.tumbling("5 minutes")': "tumble tumbling_window TumblingWindow Tumble TimeWindows window Window",
    'write hr.hopping("10 minutes", every="1 minute")': "hop hopping_window HoppingWindow",
    'write hr.session(gap="30 minutes")': "session_window SessionWindow SessionWindows",
    'write hr.sliding("10 minutes")': "slide sliding_window SlidingWindow rolling",
    'write hr.calendar("month", zone="Europe/Berlin")': "day days week month months",
    'write app = hr.App("name")': "Application StreamsBuilder StreamExecutionEnvironment Dataflow",
    'streams are read from an app: hr.App("name").stream("topic", schema="…")': "topic source",
    "headrace run app.py runs it, or app.run()": "run start",
    _SQL: "col column lit expr functions F when sum count",
    "write .to(hr.sinks.…)": "sink outputs output",
}

_SINKS = {
    'a topic needs no sink: write to("topic")': "kafka topic",
    'write hr.sinks.postgres("postgresql://user@host/database", table="totals")': "postgresql pg jdbc sql database mysql",
    'write hr.sinks.files("folder")': "file csv parquet json delta iceberg s3",
    'write hr.sinks.email(to="…", subject="…")': "mail smtp",
    'write hr.sinks.webhook("https://example.com/hook")': "http https post slack rest",
    "write hr.sinks.call(function)": "function foreach callback python print console",
    'write a class of your own: hr.sinks.custom(MyWriter(), name="…")': "foreach_batch foreachbatch writer_class plugin own",
}
_SOURCES = {
    'write hr.sources.kafka("trades")': "topic topics redpanda stream",
    'write hr.sources.files("data")': "file folder csv parquet json jsonl directory path s3",
}
_FORMATS = {
    "write hr.formats.text()": "string str utf8 plain line lines",
    "write hr.formats.bytes()": "binary raw",
    "write hr.formats.json()": "jsonl ndjson object",
    'CSV and Parquet are read from files: hr.sources.files("data", format="csv")': "csv parquet tsv",
}


def _spread(*tables: dict[str, str]) -> dict[str, str]:
    return {name: fix for table in tables for fix, names in table.items() for name in names.split()}


_BOTH = _spread(_ROWS, _TABLES)
STREAM = {name: _TABLE_FIRST if fix == _CHANGES else fix for name, fix in _BOTH.items()} | {"changes": _TABLE_FIRST}
TABLE = {name: _NOT_FOR_TABLES.get(fix, fix) for name, fix in _BOTH.items()} | _spread(
    {_EVENTS_FIRST: "explode window split apply", _JOIN: "merge", _KEYED: "dedupe as_table"}
)
_NOT_YET = [*_VERBS.split(), *(name for name, fix in _BOTH.items() if fix != _AGG)]
WINDOWED = dict.fromkeys(_NOT_YET, 'aggregate first: .window(…).agg(n="count(*)"), and then .to(…) and the rest') | _spread(
    {_AGG: _ROWS[_AGG]}
)
GROUPED = dict.fromkeys(_NOT_YET, 'aggregate first: .key_by(…).agg(n="count(*)"), and then .to(…) and the rest') | _spread(
    {_AGG: _ROWS[_AGG]}
)
APP = _spread(_APP)
MODULE = _spread(_MODULE)
SINKS = _spread(_SINKS)
SOURCES = _spread(_SOURCES)
FORMATS = _spread(_FORMATS)

ARGUMENTS = {
    argument: names.split()
    for argument, names in {
        "schema": "columns fields types dtypes value_schema",
        "time": "timestamp time_column timestamp_column event_time at ts",
        "lateness": "watermark delay grace grace_period allowed_lateness max_lateness out_of_orderness",
        "start": "offset offsets auto_offset_reset starting_offsets startingOffsets from_",
        "bad": "errors on_error mode",
        "key": "keys primary_key by id",
        "format": "value_format encoding",
        "size": "length width duration",
        "every": "slide step hop advance period interval",
        "gap": "timeout inactivity",
        "zone": "tz timezone time_zone",
        "on": "by key keys left_on",
        "how": "type kind join_type",
        "within": "tolerance interval window",
        "name": "query_name queryName alias",
        "emit": "output_mode outputMode trigger suppress",
        "returns": "return_type returnType type",
        "mode": "if_exists save_mode output_mode",
        "table": "table_name dbtable",
        "sender": "from_ sender_address",
        "to": "recipients",
    }.items()
}
"""What an argument is called elsewhere."""
