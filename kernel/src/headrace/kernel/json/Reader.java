package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;

/** Reads one type. Made once from the schema, shared by all records, without state of its own. */
abstract sealed class Reader
    permits BitsReader,
        TextReader,
        DecimalReader,
        BinaryReader,
        VariantReader,
        StructReader,
        ArrayReader,
        MapReader {
  /** The value at the cursor, which is not null; `first` is its first byte. */
  abstract Object read(Cursor c, int first);
}
