package headrace.kernel.slide;

import headrace.kernel.table.aggregate.Group;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.streaming.MapState;

/**
 * The events of a key in the order of their times, from the oldest in the window to the newest that
 * waits. They are stored in chunks, each of which knows the next; two cursors walk over them, one
 * for events that enter the window, one for those that leave it.
 *
 * <p>The header holds the positions of the cursors, and the chunks from the entering cursor on,
 * because new events are inserted there. Every other chunk is read when a cursor reaches it.
 */
final class Events {
  /** How many events a chunk has at most. */
  static final int MOST = 256;

  /**
   * The newest chunk takes more events at its end while it has fewer: else small batches would
   * write it over and over.
   */
  private static final int FEW = 32;

  static final long NONE = Long.MAX_VALUE;

  private final MapState<String, byte[]> map;
  private final Map<Integer, Chunk> known = new HashMap<>();
  private final List<Chunk> waiting = new ArrayList<>();
  private final ChunkBuilder builder = new ChunkBuilder();
  private final Cursor entering = new Cursor();
  private final Cursor leaving = new Cursor();
  private int oldest;

  /** The number of the chunk that will follow the last one. */
  private int end;

  private int unused;
  private long newest;

  Events(MapState<String, byte[]> map) {
    this.map = map;
    clear();
  }

  void clear() {
    known.clear();
    waiting.clear();
    oldest = end = 0;
    unused = 1;
    newest = Long.MIN_VALUE;
    entering.go(0, 0);
    leaving.go(0, 0);
  }

  void read(DataInputStream in) throws IOException {
    clear();
    newest = in.readLong();
    end = in.readInt();
    unused = in.readInt();
    leaving.go(oldest = in.readInt(), in.readInt());
    entering.go(in.readInt(), in.readInt());
    for (int left = in.readInt(); left > 0; left--)
      wait(waiting.size(), Chunk.stored(in.readInt(), in.readLong(), in.readInt()));
  }

  void write(DataOutputStream out) throws IOException {
    out.writeLong(newest);
    out.writeInt(end);
    out.writeInt(unused);
    leaving.write(out);
    entering.write(out);
    out.writeInt(waiting.size());
    for (Chunk chunk : waiting) {
      out.writeInt(chunk.number);
      out.writeLong(chunk.first());
      out.writeInt(chunk.count());
    }
  }

  /** The time of the newest event that is known. */
  long newest() {
    return newest;
  }

  /** Adds events that are later than all that have entered. */
  void add(Arrivals arrivals) {
    int from = 0;
    for (int i = 0; i < waiting.size() && from < arrivals.size(); i++) {
      int to = arrivals.notBefore(bound(i), from);
      if (to == from) continue;
      i += merge(i, arrivals, from, to) - 1;
      from = to;
    }
    if (from < arrivals.size()) {
      waiting.add(Chunk.empty(end, unused));
      end = unused++;
      merge(waiting.size() - 1, arrivals, from, arrivals.size());
    }
    if (arrivals.size() > 0) newest = Math.max(newest, arrivals.newest());
    entering.settle();
    leaving.settle();
  }

  /** Events before this time belong to the chunk. */
  private long bound(int i) {
    if (i + 1 < waiting.size()) return waiting.get(i + 1).first();
    return waiting.get(i).count() < FEW ? Long.MAX_VALUE : newest;
  }

  /**
   * Inserts events into a chunk, which is divided if it is too large; returns the number of chunks.
   */
  private int merge(int index, Arrivals arrivals, int from, int to) {
    Chunk old = waiting.remove(index).loaded(map);
    int all = old.count() + to - from;
    int pieces = (all + MOST - 1) / MOST;
    int enough = (all + pieces - 1) / pieces;
    int number = old.number;
    int at = 0;
    for (int piece = 0; piece < pieces; piece++) {
      builder.begin();
      while (builder.count() < enough && (at < old.size() || from < to)) {
        if (from == to || (at < old.size() && old.time(at) <= arrivals.time(from))) {
          old.copy(at, builder);
          at = old.after(at);
        } else {
          arrivals.copy(from++, builder);
        }
      }
      int next = piece == pieces - 1 ? old.next() : unused++;
      wait(index + piece, old.with(number, next, builder));
      number = next;
    }
    return pieces;
  }

  private void wait(int index, Chunk chunk) {
    waiting.add(index, chunk);
    known.put(chunk.number, chunk);
  }

  private Chunk chunk(int number) {
    return known.computeIfAbsent(number, none -> Chunk.stored(number, 0, 0)).loaded(map);
  }

  /** The time of the next event that enters, or {@link #NONE}. */
  long entering() {
    return entering.number == end ? NONE : entering.time();
  }

  /** The time of the next event that leaves, or {@link #NONE}. */
  long leaving() {
    return leaving.same(entering) ? NONE : leaving.time();
  }

  void enter(Group group) {
    entering.pass(group, 1);
  }

  void leave(Group group) {
    leaving.pass(group, -1);
  }

  /**
   * Removes the chunks that have left, stores the new ones, and marks the cursors: {@link #back}
   * returns to the marks.
   */
  void store() {
    while (oldest != leaving.number) {
      Chunk left = known.remove(oldest);
      left.remove(map);
      oldest = left.next();
    }
    int entered = 0;
    while (entered < waiting.size() && waiting.get(entered).number != entering.number) entered++;
    waiting.subList(0, entered).clear();
    for (Chunk chunk : known.values()) chunk.store(map);
    entering.mark();
    leaving.mark();
  }

  /**
   * Undoes the changes of the group since the marks: events that left are added before those that
   * entered are retracted.
   */
  void back(Group group) {
    leaving.back(group, 1);
    entering.back(group, -1);
  }

  /** A place between two events. */
  private final class Cursor {
    private int number;
    private int at;
    private int markNumber;
    private int markAt;
    private Chunk chunk;

    void go(int number, int at) {
      this.number = number;
      this.at = at;
      chunk = null;
    }

    void write(DataOutputStream out) throws IOException {
      out.writeInt(markNumber);
      out.writeInt(markAt);
    }

    boolean same(Cursor other) {
      return number == other.number && at == other.at;
    }

    long time() {
      return here().time(at);
    }

    private Chunk here() {
      if (chunk == null) chunk = chunk(number);
      return chunk;
    }

    void pass(Group group, int by) {
      Chunk here = here();
      here.change(group, at, by);
      at = here.after(at);
      if (at == here.size()) go(here.next(), 0);
    }

    /** When the chunk was divided, the place may be in a later part of it. */
    void settle() {
      chunk = null;
      Chunk there = known.get(number);
      while (there != null && there.isLoaded() && at >= there.size()) {
        go(there.next(), at - there.size());
        there = known.get(number);
      }
    }

    void mark() {
      markNumber = number;
      markAt = at;
    }

    void back() {
      go(markNumber, markAt);
    }

    /** Back to the mark, with a change of the group for each event between. */
    void back(Group group, int by) {
      int toNumber = number;
      int toAt = at;
      back();
      while (number != toNumber || at != toAt) pass(group, by);
      back();
    }
  }
}
