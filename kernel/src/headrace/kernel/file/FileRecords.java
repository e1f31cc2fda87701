package headrace.kernel.file;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.to_json;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Single records of files that queries read, for the dead letters. Their place is the file and a number that only its format knows. */
public final class FileRecords {
  private static final String SCHEMA = "_raw binary, _offset bigint";
  private static final Map<String, Map<String, String>> OPTIONS = new ConcurrentHashMap<>();

  private FileRecords() {}

  /** How the files of a folder are read: {@code format}, and what it needs. */
  public static void register(String folder, Map<String, String> options) {
    OPTIONS.put(folder, Map.copyOf(options));
  }

  /** No name of a topic has a slash. */
  public static boolean reads(String place) {
    return place.indexOf('/') >= 0;
  }

  /** The bytes of a file's records; a file that is gone has none. */
  public static Map<Long, byte[]> fetch(String file, Collection<Long> offsets) {
    Map<Long, byte[]> found = new HashMap<>();
    String folder = OPTIONS.keySet().stream().filter(file::startsWith).max((a, b) -> a.length() - b.length()).orElse(null);
    if (folder == null) return found;
    SparkSession session = SparkSession.active();
    try {
      Map<String, String> options = OPTIONS.get(folder);
      for (Row row : records(session, file, options, offsets.toArray()).collectAsList()) {
        Object value = row.get(1);
        found.put(row.getLong(0), value instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : (byte[]) value);
      }
    } catch (Exception gone) {
      // Told without its bytes.
      return found;
    }
    return found;
  }

  private static Dataset<Row> records(SparkSession session, String file, Map<String, String> options, Object[] offsets) {
    if (options.get("format").equals("parquet")) {
      Dataset<Row> rows = session.read().parquet(file);
      Column place = col("_metadata.row_index");
      return rows.where(place.isin(offsets)).select(place, to_json(struct(col("*"))));
    }
    return session.read().format(options.get("format")).options(options).schema(SCHEMA).load(file).where(col("_offset").isin(offsets)).select("_offset", "_raw");
  }
}
