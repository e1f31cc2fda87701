package headrace.kernel.slide;

import headrace.kernel.table.aggregate.Group;
import java.util.HexFormat;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.unsafe.Platform;

/**
 * Some events that follow each other in time. As bytes: the number of the chunk that follows (4),
 * then of each event its time (8) and its row, length (4) first. The number of the next chunk is
 * fixed before that exists, so that a chunk need not be written again for it.
 */
final class Chunk {
  static final int HEAD = 4;
  static final int EVENT = 12;
  private static final long START = Platform.BYTE_ARRAY_OFFSET;

  final int number;

  /** The time of the first event and the number of them; known of chunks that wait. */
  private long first;

  private int count;
  private int next;
  private byte[] bytes;
  private boolean stored;
  private boolean changed;

  private Chunk(int number) {
    this.number = number;
  }

  /** A chunk without events. */
  static Chunk empty(int number, int next) {
    Chunk chunk = new Chunk(number);
    chunk.next = next;
    chunk.bytes = new byte[HEAD];
    return chunk;
  }

  /** A stored chunk, read when it is needed. */
  static Chunk stored(int number, long first, int count) {
    Chunk chunk = new Chunk(number);
    chunk.first = first;
    chunk.count = count;
    chunk.stored = true;
    return chunk;
  }

  /** A chunk with other events, in the place of this one or after it. */
  Chunk with(int number, int next, ChunkBuilder events) {
    Chunk chunk = new Chunk(number);
    chunk.next = next;
    chunk.bytes = events.build();
    chunk.first = chunk.time(0);
    chunk.count = events.count();
    chunk.stored = stored && number == this.number;
    chunk.changed = true;
    return chunk;
  }

  Chunk loaded(MapState<String, byte[]> map) {
    if (bytes == null) {
      bytes = map.getValue(key());
      next = Platform.getInt(bytes, START);
    }
    return this;
  }

  void store(MapState<String, byte[]> map) {
    if (!changed) return;
    Platform.putInt(bytes, START, next);
    map.updateValue(key(), bytes);
    changed = false;
  }

  void remove(MapState<String, byte[]> map) {
    if (stored) map.removeKey(key());
  }

  private String key() {
    return HexFormat.of().toHexDigits(number);
  }

  long first() {
    return first;
  }

  int count() {
    return count;
  }

  int next() {
    return next;
  }

  boolean isLoaded() {
    return bytes != null;
  }

  /** The size of the events in bytes; the places of events start at 0. */
  int size() {
    return bytes.length - HEAD;
  }

  long time(int at) {
    return Platform.getLong(bytes, START + HEAD + at);
  }

  private int length(int at) {
    return Platform.getInt(bytes, START + HEAD + at + 8);
  }

  int after(int at) {
    return at + EVENT + length(at);
  }

  void change(Group group, int at, int by) {
    group.change(bytes, HEAD + at + EVENT, length(at), by, time(at));
  }

  void copy(int at, ChunkBuilder to) {
    to.add(time(at), bytes, HEAD + at + EVENT, length(at));
  }
}
