package headrace.kernel.file;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.to_json;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Single records of files that queries read, for the dead letters. Their place is the file and a
 * number that only its format knows.
 */
public final class FileRecords {
  private static final Map<String, Map<String, String>> OPTIONS = new ConcurrentHashMap<>();

  /** The topic of dead letters takes no more. */
  private static final int LONGEST = 96 << 20;

  private FileRecords() {}

  /** How files with such URIs are read: {@code format}, and what it needs. */
  public static void register(String places, Map<String, String> options) {
    OPTIONS.put(places, Map.copyOf(options));
  }

  /** No name of a topic has a slash. */
  public static boolean reads(String place) {
    return place.indexOf('/') >= 0;
  }

  /**
   * The bytes of a file's records, of Parquet as JSON; one of a deleted file has none, and neither
   * has one that is too long: then the dead letter is the place and the cause.
   */
  public static Map<Long, byte[]> fetch(String file, Collection<Long> offsets) {
    Map<Long, byte[]> found = new HashMap<>();
    Map<String, String> options = options(file);
    if (options == null) return found;
    SparkSession session = SparkSession.active();
    if (options.get("format").equals("parquet")) {
      rows(session, file, offsets, found);
      return found;
    }
    try {
      texts(session.sparkContext().hadoopConfiguration(), file, offsets, options, found);
    } catch (IOException gone) {
      return found;
    }
    return found;
  }

  private static Map<String, String> options(String file) {
    for (Map.Entry<String, Map<String, String>> each : OPTIONS.entrySet()) {
      if (Pattern.matches(each.getKey(), file)) return each.getValue();
    }
    return null;
  }

  private static void rows(
      SparkSession session, String file, Collection<Long> offsets, Map<Long, byte[]> found) {
    Column place = col("_metadata.row_index");
    try {
      Dataset<Row> rows = session.read().parquet(file).where(place.isin(offsets.toArray()));
      for (Row row : rows.select(place, to_json(struct(col("*")))).collectAsList()) {
        found.put(row.getLong(0), row.getString(1).getBytes(StandardCharsets.UTF_8));
      }
    } catch (Exception gone) {
      // Spark's exceptions are many, and none of them is declared.
    }
  }

  private static void texts(
      Configuration hadoop,
      String file,
      Collection<Long> offsets,
      Map<String, String> options,
      Map<Long, byte[]> found)
      throws IOException {
    boolean csv = options.get("format").equals(CsvFiles.class.getName());
    try (RecordFiles.Opened opened = RecordFiles.open(new Path(URI.create(file)), hadoop)) {
      for (long offset : new TreeSet<>(offsets)) {
        Bytes bytes = opened.at(offset);
        byte[] record =
            csv
                ? CsvFiles.record(bytes, options.get("delimiter").charAt(0))
                : LineFiles.record(bytes);
        if (record == null || record.length <= LONGEST) found.put(offset, record);
      }
    }
  }
}
