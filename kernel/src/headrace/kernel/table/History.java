package headrace.kernel.table;

import headrace.kernel.block.Block;
import headrace.kernel.block.Change;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;

/**
 * The versions of a row by the time from which each is valid.
 *
 * <pre>
 * add:        insert by time, version, sequence; an equal version is replaced
 * follow:     append; at or before the last time: replace the last version, at its time
 * at(t):      the last version with time &lt;= t
 * takeBefore: remove and return the versions before t; of several at one time, the newest
 * forget(t):  drop versions that were replaced at or before t; drop a delete at or before t
 *             if it is all that is left
 * </pre>
 *
 * <p>Format of the state: format, then time, version, sequence and the row (length first, -1 for
 * none) of each.
 */
final class History {
  private static final byte FORMAT = 1;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  /** If the row is null, it was deleted, or does not exist yet. */
  record Version(long time, long version, long sequence, byte[] row)
      implements Comparable<Version> {
    static final Version NONE = new Version(Long.MIN_VALUE, Block.NO_VERSION, 0, null);

    static Version of(Change change) {
      return new Version(change.time(), change.version(), change.sequence(), change.after());
    }

    @Override
    public int compareTo(Version other) {
      if (time != other.time) return Long.compare(time, other.time);
      // A delete has no version: among changes of the same time, the order of the log decides.
      if (version != other.version
          && version != Block.NO_VERSION
          && other.version != Block.NO_VERSION) {
        return Long.compare(version, other.version);
      }
      return Long.compare(sequence, other.sequence);
    }
  }

  private final List<Version> versions = new ArrayList<>();

  static History read(byte[] bytes) {
    History history = new History();
    if (bytes == null) return history;
    if (bytes[0] != FORMAT) throw new StateFormatException(bytes[0], FORMAT);
    int at = 1;
    while (at < bytes.length) {
      int length = Platform.getInt(bytes, START + at + 24);
      byte[] row =
          length < 0 ? null : java.util.Arrays.copyOfRange(bytes, at + 28, at + 28 + length);
      history.versions.add(
          new Version(
              Platform.getLong(bytes, START + at),
              Platform.getLong(bytes, START + at + 8),
              Platform.getLong(bytes, START + at + 16),
              row));
      at += 28 + Math.max(length, 0);
    }
    return history;
  }

  byte[] write() {
    int size = 1;
    for (Version version : versions) size += 28 + (version.row == null ? 0 : version.row.length);
    byte[] bytes = new byte[size];
    bytes[0] = FORMAT;
    int at = 1;
    for (Version version : versions) {
      Platform.putLong(bytes, START + at, version.time);
      Platform.putLong(bytes, START + at + 8, version.version);
      Platform.putLong(bytes, START + at + 16, version.sequence);
      Platform.putInt(bytes, START + at + 24, version.row == null ? -1 : version.row.length);
      if (version.row != null) System.arraycopy(version.row, 0, bytes, at + 28, version.row.length);
      at += 28 + (version.row == null ? 0 : version.row.length);
    }
    return bytes;
  }

  boolean isEmpty() {
    return versions.isEmpty();
  }

  void add(Change change) {
    Version added = Version.of(change);
    int at = versions.size();
    while (at > 0 && versions.get(at - 1).compareTo(added) > 0) at--;
    if (at > 0 && versions.get(at - 1).compareTo(added) == 0) versions.set(at - 1, added);
    else versions.add(at, added);
  }

  /** Appends a change that follows all others; a late one is valid from the last time on. */
  void follow(Change change) {
    int last = versions.size() - 1;
    long time = last < 0 ? change.time() : Math.max(change.time(), versions.get(last).time);
    Version added = new Version(time, change.version(), change.sequence(), change.after());
    if (last >= 0 && versions.get(last).time == time) versions.set(last, added);
    else versions.add(added);
  }

  long firstTime() {
    return versions.get(0).time;
  }

  /** Removes and returns the versions before this time; of several at one time, the newest. */
  List<Version> takeBefore(long time) {
    int end = 0;
    List<Version> taken = new ArrayList<>();
    for (; end < versions.size() && versions.get(end).time < time; end++) {
      if (!taken.isEmpty() && taken.get(taken.size() - 1).time == versions.get(end).time)
        taken.remove(taken.size() - 1);
      taken.add(versions.get(end));
    }
    versions.subList(0, end).clear();
    return taken;
  }

  /** The version that was valid at this time. */
  Version at(long time) {
    for (int i = versions.size() - 1; i >= 0; i--) {
      if (versions.get(i).time <= time) return versions.get(i);
    }
    return Version.NONE;
  }

  /** Drops the versions that were replaced by this time; the one that is valid at it stays. */
  void forget(long before) {
    int keep = 0;
    while (keep + 1 < versions.size() && versions.get(keep + 1).time <= before) keep++;
    versions.subList(0, keep).clear();
    if (versions.size() == 1 && versions.get(0).row == null && versions.get(0).time <= before)
      versions.clear();
  }
}
