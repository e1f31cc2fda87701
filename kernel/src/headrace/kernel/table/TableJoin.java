package headrace.kernel.table;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;

/**
 * Two tables joined on any equality: the rows of both that have this key, paired; a change on either side changes the pairs it is in.
 *
 * <p>Keeps the rows of each side by their own keys ({@link Kept}). A row comes as a struct of its own key and itself; of a side that is
 * joined on its own key there is one row, and it may come as it was written, without the one before ({@link Side}). The result's
 * rows are {@link Pair}s.
 */
final class TableJoin extends Operator {
  /** What a row of the result is known by: the key of the join, which is that of both tables; the left's key, where the right is joined on
   * its own and so has one row; or the keys of both. */
  enum By { KEY, LEFT, BOTH }

  /** What comes of a table: changes, or upserts and deletes, of which versioned ones may be out of date ({@link Newest}). */
  enum Side { CHANGES, UPSERTS, VERSIONED_UPSERTS }

  private static final String ONLY = "";

  private final boolean left;
  private final boolean right;
  private final By by;
  private final Side leftSide;
  private final Side rightSide;
  private final Steps steps;
  private transient MapState<String, byte[]> lefts;
  private transient MapState<String, byte[]> rights;
  private transient int stale;

  /** With {@code left}, rows of the left without a partner count too; likewise {@code right}. */
  TableJoin(boolean left, boolean right, By by, Side leftSide, Side rightSide, Steps steps) {
    this.left = left;
    this.right = right;
    this.by = by;
    this.leftSide = leftSide;
    this.rightSide = rightSide;
    this.steps = steps;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    lefts = map("lefts");
    rights = map("rights");
  }

  /** A row before a step and after it. */
  private record Turn(Kept was, Kept is) {
    static final Turn NEVER = new Turn(Kept.NONE, Kept.NONE);
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    boolean matches = !hasNull(key);
    stale = 0;
    int lost = matches ? 0 : keyless(leftSide, input.left()) + keyless(rightSide, input.right());
    if (!matches && !left && !right) return with(none(), NO_KEY, lost);
    Iterator<Steps.Step> each = steps.of(input).iterator();
    Iterator<byte[]> pairs = pairs(matches, each.next());
    return with(with(each.hasNext() ? new InTurn(pairs, each, matches) : pairs, STALE, stale), NO_KEY, lost);
  }

  /** Upserts without a key are in no table. */
  private static int keyless(Side side, List<byte[]> blocks) {
    if (side == Side.CHANGES) return 0;
    int count = count(blocks);
    blocks.clear();
    return count;
  }

  /** Step by step: one begins when all pairs of the one before it are read. Sides with several steps are changes, none of them stale. */
  private final class InTurn implements Iterator<byte[]> {
    private final Iterator<Steps.Step> each;
    private final boolean matches;
    private Iterator<byte[]> pairs;

    InTurn(Iterator<byte[]> pairs, Iterator<Steps.Step> each, boolean matches) {
      this.pairs = pairs;
      this.each = each;
      this.matches = matches;
    }

    @Override
    public boolean hasNext() {
      while (!pairs.hasNext() && each.hasNext()) pairs = pairs(matches, each.next());
      return pairs.hasNext();
    }

    @Override
    public byte[] next() {
      if (!hasNext()) throw new NoSuchElementException();
      return pairs.next();
    }
  }

  private Iterator<byte[]> pairs(boolean matches, Steps.Step step) {
    Map<String, Turn> leftTurns = apply(step.left(), lefts, leftSide);
    Map<String, Turn> rightTurns = apply(step.right(), rights, rightSide);
    if (by == By.KEY) {
      BlockBuilder out = new BlockBuilder(256);
      add(only(lefts, leftTurns), matches || right ? only(rights, rightTurns) : Turn.NEVER, !right, !left, step, out);
      return one(out);
    }
    if (!matches) return new Pairs(turned(leftTurns), List.of(), turned(rightTurns), false, step);
    // All rows of the right, whether they changed or not: each left one is paired with each of them.
    List<Turn> all = new ArrayList<>();
    each(rights, rightTurns).forEachRemaining(all::add);
    Iterator<Turn> from = rightTurns.isEmpty() && !right ? turned(leftTurns) : each(lefts, leftTurns);
    return new Pairs(from, all, right ? all.iterator() : List.<Turn>of().iterator(), true, step);
  }

  private static Turn only(MapState<String, byte[]> state, Map<String, Turn> turns) {
    Turn turn = turns.get(ONLY);
    if (turn != null) return turn;
    Kept kept = Kept.read(state.getValue(ONLY));
    return new Turn(kept, kept);
  }

  private Map<String, Turn> apply(List<Change> changes, MapState<String, byte[]> state, Side side) {
    Map<String, Turn> turns = new LinkedHashMap<>();
    for (Change change : changes) {
      if (side == Side.CHANGES) exact(change, state, turns);
      else upsert(change, state, turns);
    }
    turns.forEach(
        (key, turn) -> {
          if (turn.is() == turn.was()) return;
          if (turn.is().present() || side == Side.VERSIONED_UPSERTS) state.updateValue(key, turn.is().write());
          else if (turn.was().present()) state.removeKey(key);
        });
    return turns;
  }

  private void exact(Change change, MapState<String, byte[]> state, Map<String, Turn> turns) {
    UnsafeRow both = new UnsafeRow(2);
    byte[] packed = change.after() == null ? change.before() : change.after();
    both.pointTo(packed, packed.length);
    String key = by == By.KEY ? ONLY : new String(both.getStruct(0, 1).getBytes(), StandardCharsets.ISO_8859_1);
    byte[] row = change.after() == null ? null : both.getStruct(1, 1).getBytes();
    Turn turn = turns.get(key);
    Kept was = turn == null ? Kept.read(state.getValue(key)) : turn.was();
    turns.put(key, new Turn(was, new Kept(change.version(), change.time(), row)));
  }

  private void upsert(Change change, MapState<String, byte[]> state, Map<String, Turn> turns) {
    Turn turn = turns.get(ONLY);
    if (turn == null) {
      Kept kept = Kept.read(state.getValue(ONLY));
      turn = new Turn(kept, kept);
    }
    if (turn.is().refuses(change)) stale++;
    else turns.put(ONLY, new Turn(turn.was(), turn.is().with(change)));
  }

  private static Iterator<Turn> turned(Map<String, Turn> turns) {
    return turns.values().iterator();
  }

  /** What changed, then what did not. */
  private static Iterator<Turn> each(MapState<String, byte[]> state, Map<String, Turn> turns) {
    Iterator<Turn> changed = turned(turns);
    scala.collection.Iterator<Tuple2<String, byte[]>> rows = state.iterator();
    return new Iterator<>() {
      private Turn next = advance();

      private Turn advance() {
        if (changed.hasNext()) return changed.next();
        while (rows.hasNext()) {
          Tuple2<String, byte[]> row = rows.next();
          if (turns.containsKey(row._1())) continue;
          Kept kept = Kept.read(row._2());
          return new Turn(kept, kept);
        }
        return null;
      }

      @Override
      public boolean hasNext() {
        return next != null;
      }

      @Override
      public Turn next() {
        if (next == null) throw new NoSuchElementException();
        Turn turn = next;
        next = advance();
        return turn;
      }
    };
  }

  /** The changed pairs, block by block, so that a row with a million partners needs no room for all of them at once. */
  private final class Pairs implements Iterator<byte[]> {
    private final Iterator<Turn> from;
    private final List<Turn> all;
    private final Iterator<Turn> rest;
    private final boolean matches;
    private final Steps.Step step;
    private boolean leftWas = false;
    private boolean leftIs = false;
    private final boolean rightWas;
    private final boolean rightIs;
    private byte[] next;

    Pairs(Iterator<Turn> from, List<Turn> all, Iterator<Turn> rest, boolean matches, Steps.Step step) {
      this.from = from;
      this.all = all;
      this.rest = rest;
      this.matches = matches;
      this.step = step;
      this.rightWas = all.stream().anyMatch(turn -> turn.was().present());
      this.rightIs = all.stream().anyMatch(turn -> turn.is().present());
      this.next = advance();
    }

    private byte[] advance() {
      BlockBuilder out = new BlockBuilder(1024);
      while (from.hasNext() && out.size() < ENOUGH) {
        Turn turn = from.next();
        leftWas |= matches && turn.was().present();
        leftIs |= matches && turn.is().present();
        ofLeft(turn, out);
      }
      // A row of the right is alone if no left one was there, which is known when all of them were seen.
      while (!from.hasNext() && rest.hasNext() && out.size() < ENOUGH) {
        Turn turn = rest.next();
        Turn lonely = new Turn(leftWas ? Kept.NONE : turn.was(), leftIs ? Kept.NONE : turn.is());
        if (right) add(Turn.NEVER, lonely, false, true, step, out);
      }
      return out.isEmpty() ? null : out.build();
    }

    private void ofLeft(Turn turn, BlockBuilder out) {
      if (by == By.LEFT) {
        // The right has one row; when it comes or goes, the result's row changes, rather than one being deleted and another inserted.
        add(turn, all.isEmpty() ? Turn.NEVER : all.get(0), true, !left, step, out);
        return;
      }
      for (Turn other : all) add(turn, other, true, true, step, out);
      Turn lonely = new Turn(rightWas ? Kept.NONE : turn.was(), rightIs ? Kept.NONE : turn.is());
      if (left) add(lonely, Turn.NEVER, true, false, step, out);
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    public byte[] next() {
      byte[] block = next;
      next = advance();
      return block;
    }
  }

  /** The pair as it was and as it is; {@code needLeft} and {@code needRight} say which of the two it can't be without. */
  private static void add(Turn one, Turn other, boolean needLeft, boolean needRight, Steps.Step step, BlockBuilder out) {
    byte[] before = pair(one.was(), other.was(), needLeft, needRight);
    byte[] after = pair(one.is(), other.is(), needLeft, needRight);
    // A row's time comes from the rows it is made of, so that what takes it back later can say the same; so a new time is a change.
    long time = after == null ? Math.max(one.is().time(), other.is().time()) : time(one.is(), other.is());
    long beforeTime = time(one.was(), other.was());
    if (Change.same(before, after) && (before == null || time == beforeTime)) return;
    long version = step.version(Math.max(one.is().version(), other.is().version()));
    out.add(new Change(OUT, time, beforeTime, version, step.number(), before, after));
  }

  private static long time(Kept one, Kept other) {
    return Math.max(one.present() ? one.time() : 0, other.present() ? other.time() : 0);
  }

  private static byte[] pair(Kept one, Kept other, boolean needLeft, boolean needRight) {
    boolean none = !one.present() && !other.present();
    return none || (needLeft && !one.present()) || (needRight && !other.present()) ? null : Pair.of(one.row(), other.row());
  }
}
