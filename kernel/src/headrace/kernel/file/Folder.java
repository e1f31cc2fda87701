package headrace.kernel.file;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobPattern;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqBase;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource.FileEntry;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Compares a folder that a query reads with the query's checkpoint: Spark itself never looks back.
 */
public final class Folder {
  private static final int SOME = 20;
  private static final Pattern LOG_OFFSET = Pattern.compile("\\{\"logOffset\":(\\d+)\\}");

  private Folder() {}

  /** Its URI in Spark; null if no such folder or file exists. */
  public static String uri(SparkSession session, String folder) throws IOException {
    Path path = new Path(folder);
    FileSystem files = path.getFileSystem(session.sparkContext().hadoopConfiguration());
    return files.exists(path) ? files.makeQualified(path).toUri().toString() : null;
  }

  /**
   * What is wrong, and with which file: {@code changed} after it was read, {@code written} if it
   * changed when its rows were written and the batch was not yet noted as done, or {@code vanished}
   * before it was read; null if nothing is. After {@code written} comes the time it had.
   *
   * <pre>
   * for each source of the query that is files:
   *   for each file of its log that is in the folder:
   *     if its batch is committed and the file of its name now has another time: changed,
   *       unless it was replaced before it was read
   *     if its batch is not committed and the file does not exist: vanished
   *     if its batch is not committed, but confirmed, and the file has another time: written
   * </pre>
   */
  public static String[] problem(
      SparkSession session, String folder, String checkpoint, Map<String, String> replaced)
      throws IOException {
    for (Seen seen : seen(session, folder, checkpoint)) {
      if (seen.committed) {
        String planned = replaced.getOrDefault(seen.file, Long.toString(seen.planned));
        if (seen.now != null && !planned.equals(seen.now.toString()))
          return new String[] {"changed", seen.file};
      } else if (seen.now == null) {
        return new String[] {"vanished", seen.file};
      } else if (seen.written && seen.now != seen.planned) {
        return new String[] {"written", seen.file, Long.toString(seen.planned)};
      }
    }
    return null;
  }

  /** The times of files of an uncommitted batch, if they have changed since it was planned. */
  public static Map<String, Long> replaced(SparkSession session, String folder, String checkpoint)
      throws IOException {
    Map<String, Long> found = new HashMap<>();
    for (Seen seen : seen(session, folder, checkpoint)) {
      if (!seen.committed && !seen.written && seen.now != null && seen.now != seen.planned)
        found.put(seen.file, seen.now);
    }
    return found;
  }

  /**
   * A file of a batch, with its time as it was then and as it is now; {@code written} if all
   * destinations have its rows.
   */
  private record Seen(String file, boolean committed, boolean written, long planned, Long now) {}

  private static List<Seen> seen(SparkSession session, String folder, String checkpoint)
      throws IOException {
    Path root = new Path(folder);
    FileSystem files = root.getFileSystem(session.sparkContext().hadoopConfiguration());
    root = files.makeQualified(root);
    Map<Path, Long> there = null;
    List<Seen> found = new ArrayList<>();
    long[] committed = committed(session, checkpoint);
    boolean written = written(session, checkpoint);
    for (int i = 0; i < committed.length; i++) {
      if (committed[i] < -1) continue;
      FileStreamSourceLog log =
          new FileStreamSourceLog(
              FileStreamSourceLog.VERSION(), session, checkpoint + "/sources/" + i);
      for (FileEntry entry : log.allFiles()) {
        Path file = entry.sparkPath().toPath();
        if (!within(root, file)) continue;
        if (there == null) there = list(files, root);
        found.add(
            new Seen(
                file.toString(),
                entry.batchId() <= committed[i],
                written,
                entry.timestamp(),
                there.get(file)));
      }
    }
    return found;
  }

  /**
   * Null if a file's name matches, otherwise a few of the names that exist; hidden files are
   * ignored.
   */
  public static String[] others(SparkSession session, String folder, String names)
      throws IOException {
    Path root = new Path(folder);
    FileSystem files = root.getFileSystem(session.sparkContext().hadoopConfiguration());
    GlobPattern pattern = new GlobPattern(names);
    List<String> others = new ArrayList<>();
    for (RemoteIterator<LocatedFileStatus> each = files.listFiles(root, true); each.hasNext(); ) {
      String name = each.next().getPath().getName();
      if (name.startsWith("_") || name.startsWith(".")) continue;
      if (pattern.matches(name)) return null;
      if (others.size() < SOME) others.add(name);
    }
    return others.toArray(new String[0]);
  }

  private static boolean within(Path root, Path file) {
    String path = root.toString();
    return file.equals(root) || file.toString().startsWith(path.endsWith("/") ? path : path + "/");
  }

  /**
   * By source, the last entry of its log in a committed batch; -1 for none, -2 if the source is not
   * files.
   */
  private static long[] committed(SparkSession session, String checkpoint) {
    OffsetSeqLog offsets = new OffsetSeqLog(session, checkpoint + "/offsets", false);
    Option<Object> planned = offsets.getLatestBatchId();
    if (planned.isEmpty()) return new long[0];
    Option<Object> done = new CommitLog(session, checkpoint + "/commits", false).getLatestBatchId();
    long[] last = entries(offsets.get((long) planned.get()));
    if (done.isDefined() && done.get().equals(planned.get())) return last;
    long[] before = done.isDefined() ? entries(offsets.get((long) done.get())) : new long[0];
    for (int i = 0; i < last.length; i++)
      if (last[i] >= -1) last[i] = i < before.length ? Math.max(before[i], -1) : -1;
    return last;
  }

  /** Whether the destinations have confirmed the batch planned last. */
  private static boolean written(SparkSession session, String checkpoint) throws IOException {
    Option<Object> planned =
        new OffsetSeqLog(session, checkpoint + "/offsets", false).getLatestBatchId();
    if (planned.isEmpty()) return false;
    Path confirmed = new Path(checkpoint, "confirmed/" + planned.get());
    return confirmed.getFileSystem(session.sparkContext().hadoopConfiguration()).exists(confirmed);
  }

  private static long[] entries(Option<OffsetSeqBase> offsets) {
    if (offsets.isEmpty()) return new long[0];
    List<Option<Offset>> sources = CollectionConverters.asJava(offsets.get().offsets());
    return sources.stream().mapToLong(Folder::entry).toArray();
  }

  private static long entry(Option<Offset> offset) {
    if (offset.isEmpty()) return -2;
    Matcher matcher = LOG_OFFSET.matcher(offset.get().json());
    return matcher.matches() ? Long.parseLong(matcher.group(1)) : -2;
  }

  private static Map<Path, Long> list(FileSystem files, Path root) throws IOException {
    Map<Path, Long> found = new HashMap<>();
    try {
      for (RemoteIterator<LocatedFileStatus> each = files.listFiles(root, true); each.hasNext(); ) {
        LocatedFileStatus file = each.next();
        found.put(file.getPath(), file.getModificationTime());
      }
    } catch (FileNotFoundException gone) {
      return found;
    }
    return found;
  }
}
