"""What formats do to bytes; one file a format, and `codecs` picks it.

A decoder turns the columns of a record (`value`, `topic`, `partition`, `offset`) into a struct: the fields of the schema and,
last, `_bad`: why the record can't be used, or null. With `fail` it raises instead, with the record's place (`refusal`).
An encoder turns the columns of a row into one column, text or binary.
"""
