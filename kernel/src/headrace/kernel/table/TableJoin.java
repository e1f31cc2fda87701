package headrace.kernel.table;

import headrace.kernel.block.BlockBuilder;
import headrace.kernel.block.Change;
import headrace.kernel.block.Pair;
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
 * Joins two tables on equal columns, not only on their keys. The operator's key is these columns:
 * each row of one table with this key is paired with each of the other.
 *
 * <pre>
 * state: lefts, rights: the rows of each side by their own keys ({@link StoredRow})
 *
 * for each step:
 *   for each change of a side, unless it is a versioned upsert that is out of date (count it):
 *     transition[own key] = (row before the step, row after it)
 *   update the state of both sides
 *   for each pair of a left and a right row, changed ones as transitions:
 *     before = (left.was, right.was), after = (left.is, right.is)
 *     each is null if a required side is missing
 *     if before and after differ in rows or time: emit before -> after
 *   BOTH, if left is outer: the same for each left row with null,
 *     was only if no right row was there, is only if none is there
 *   BOTH, if right is outer: likewise
 * a key with a null matches nothing: only outer rows are emitted (KEY and full: as one row)
 * </pre>
 *
 * <p>A row arrives as a struct of its own key and itself. A side that is joined on its own key has
 * at most one row, and may arrive as upserts, without the row before ({@link Side}). If both sides
 * are, or the right one is and the join is not full, an outer row that gains or loses its partner
 * is one change of its row; otherwise ({@link By#BOTH}) it is a delete and an insert. Rows of the
 * left that did not change are read only if the right changed or is outer. Pairs are computed block
 * by block while they are read. The result's rows are {@link Pair}s.
 */
final class TableJoin extends Operator {
  /**
   * What identifies a row of the result: the key of the join, if it is that of both tables; the
   * left's key, if the right is joined on its own key and so has one row; otherwise the keys of
   * both.
   */
  enum By {
    KEY,
    LEFT,
    BOTH
  }

  /**
   * What a side consists of: changes, or upserts and deletes. Versioned ones may be out of date
   * ({@link Newest}).
   */
  enum Side {
    CHANGES,
    UPSERTS,
    VERSIONED_UPSERTS
  }

  private static final String ONLY = "";

  private final boolean left;
  private final boolean right;
  private final By by;
  private final Side leftSide;
  private final Side rightSide;
  private final StepSize steps;
  private transient MapState<String, byte[]> lefts;
  private transient MapState<String, byte[]> rights;
  private transient int stale;

  /**
   * With {@code left}, rows of the left without a partner are in the result; likewise {@code
   * right}.
   */
  TableJoin(boolean left, boolean right, By by, Side leftSide, Side rightSide, StepSize steps) {
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
  private record Transition(StoredRow was, StoredRow is) {
    static final Transition NEVER = new Transition(StoredRow.NONE, StoredRow.NONE);
  }

  @Override
  protected Iterator<byte[]> handle(byte[] key, Input input, TimerValues times) {
    boolean matches = !hasNull(key);
    stale = 0;
    int lost = matches ? 0 : keyless(leftSide, input.left()) + keyless(rightSide, input.right());
    if (!matches && !left && !right) return with(none(), NO_KEY, lost);
    Iterator<StepSize.Step> each = steps.of(input).iterator();
    Iterator<byte[]> pairs = pairs(matches, each.next());
    return with(
        with(each.hasNext() ? new StepByStep(pairs, each, matches) : pairs, STALE, stale),
        NO_KEY,
        lost);
  }

  /** Drops and counts upserts without a key: they are in no table. */
  private static int keyless(Side side, List<byte[]> blocks) {
    if (side == Side.CHANGES) return 0;
    int count = count(blocks);
    blocks.clear();
    return count;
  }

  /**
   * Runs one step after the other; a step begins when all pairs of the previous one have been read.
   * Sides with several steps are changes, none of them stale.
   */
  private final class StepByStep implements Iterator<byte[]> {
    private final Iterator<StepSize.Step> each;
    private final boolean matches;
    private Iterator<byte[]> pairs;

    StepByStep(Iterator<byte[]> pairs, Iterator<StepSize.Step> each, boolean matches) {
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

  private Iterator<byte[]> pairs(boolean matches, StepSize.Step step) {
    Map<String, Transition> leftTransitions = apply(step.left(), lefts, leftSide);
    Map<String, Transition> rightTransitions = apply(step.right(), rights, rightSide);
    if (by == By.KEY) {
      BlockBuilder out = new BlockBuilder(256);
      add(
          only(lefts, leftTransitions),
          matches || right ? only(rights, rightTransitions) : Transition.NEVER,
          !right,
          !left,
          step,
          out);
      return one(out);
    }
    if (!matches)
      return new Pairs(changed(leftTransitions), List.of(), changed(rightTransitions), false, step);
    // All rows of the right, changed or not: each left row is paired with each of them.
    List<Transition> all = new ArrayList<>();
    each(rights, rightTransitions).forEachRemaining(all::add);
    Iterator<Transition> from =
        rightTransitions.isEmpty() && !right
            ? changed(leftTransitions)
            : each(lefts, leftTransitions);
    return new Pairs(
        from, all, right ? all.iterator() : List.<Transition>of().iterator(), true, step);
  }

  private static Transition only(
      MapState<String, byte[]> state, Map<String, Transition> transitions) {
    Transition transition = transitions.get(ONLY);
    if (transition != null) return transition;
    StoredRow kept = StoredRow.read(state.getValue(ONLY));
    return new Transition(kept, kept);
  }

  private Map<String, Transition> apply(
      List<Change> changes, MapState<String, byte[]> state, Side side) {
    Map<String, Transition> transitions = new LinkedHashMap<>();
    for (Change change : changes) {
      if (side == Side.CHANGES) exact(change, state, transitions);
      else upsert(change, state, transitions);
    }
    transitions.forEach(
        (key, transition) -> {
          if (transition.is() == transition.was()) return;
          if (transition.is().present() || side == Side.VERSIONED_UPSERTS)
            state.updateValue(key, transition.is().write());
          else if (transition.was().present()) state.removeKey(key);
        });
    return transitions;
  }

  private void exact(
      Change change, MapState<String, byte[]> state, Map<String, Transition> transitions) {
    UnsafeRow both = new UnsafeRow(2);
    byte[] packed = change.after() == null ? change.before() : change.after();
    both.pointTo(packed, packed.length);
    String key =
        by == By.KEY
            ? ONLY
            : new String(both.getStruct(0, 1).getBytes(), StandardCharsets.ISO_8859_1);
    byte[] row = change.after() == null ? null : both.getStruct(1, 1).getBytes();
    Transition transition = transitions.get(key);
    StoredRow was = transition == null ? StoredRow.read(state.getValue(key)) : transition.was();
    transitions.put(key, new Transition(was, new StoredRow(change.version(), change.time(), row)));
  }

  private void upsert(
      Change change, MapState<String, byte[]> state, Map<String, Transition> transitions) {
    Transition transition = transitions.get(ONLY);
    if (transition == null) {
      StoredRow kept = StoredRow.read(state.getValue(ONLY));
      transition = new Transition(kept, kept);
    }
    if (transition.is().refuses(change)) stale++;
    else transitions.put(ONLY, new Transition(transition.was(), transition.is().with(change)));
  }

  private static Iterator<Transition> changed(Map<String, Transition> transitions) {
    return transitions.values().iterator();
  }

  /** The rows that changed, then those that did not. */
  private static Iterator<Transition> each(
      MapState<String, byte[]> state, Map<String, Transition> transitions) {
    Iterator<Transition> changed = changed(transitions);
    scala.collection.Iterator<Tuple2<String, byte[]>> rows = state.iterator();
    return new Iterator<>() {
      private Transition next = advance();

      private Transition advance() {
        if (changed.hasNext()) return changed.next();
        while (rows.hasNext()) {
          Tuple2<String, byte[]> row = rows.next();
          if (transitions.containsKey(row._1())) continue;
          StoredRow kept = StoredRow.read(row._2());
          return new Transition(kept, kept);
        }
        return null;
      }

      @Override
      public boolean hasNext() {
        return next != null;
      }

      @Override
      public Transition next() {
        if (next == null) throw new NoSuchElementException();
        Transition transition = next;
        next = advance();
        return transition;
      }
    };
  }

  /**
   * The changed pairs, block by block, so that a row with a million partners does not need memory
   * for all pairs at once.
   */
  private final class Pairs implements Iterator<byte[]> {
    private final Iterator<Transition> from;
    private final List<Transition> all;
    private final Iterator<Transition> rest;
    private final boolean matches;
    private final StepSize.Step step;
    private boolean leftWas = false;
    private boolean leftIs = false;
    private final boolean rightWas;
    private final boolean rightIs;
    private byte[] next;

    Pairs(
        Iterator<Transition> from,
        List<Transition> all,
        Iterator<Transition> rest,
        boolean matches,
        StepSize.Step step) {
      this.from = from;
      this.all = all;
      this.rest = rest;
      this.matches = matches;
      this.step = step;
      this.rightWas = all.stream().anyMatch(transition -> transition.was().present());
      this.rightIs = all.stream().anyMatch(transition -> transition.is().present());
      this.next = advance();
    }

    private byte[] advance() {
      BlockBuilder out = new BlockBuilder(1024);
      while (from.hasNext() && out.size() < ENOUGH) {
        Transition transition = from.next();
        leftWas |= matches && transition.was().present();
        leftIs |= matches && transition.is().present();
        ofLeft(transition, out);
      }
      // Whether a row of the right has a partner is known once all left rows have been read.
      while (!from.hasNext() && rest.hasNext() && out.size() < ENOUGH) {
        Transition transition = rest.next();
        Transition lonely =
            new Transition(
                leftWas ? StoredRow.NONE : transition.was(),
                leftIs ? StoredRow.NONE : transition.is());
        if (right) add(Transition.NEVER, lonely, false, true, step, out);
      }
      return out.isEmpty() ? null : out.build();
    }

    private void ofLeft(Transition transition, BlockBuilder out) {
      if (by == By.LEFT) {
        // The right has one row. When it appears or disappears, the result's row changes; it is not
        // deleted and inserted.
        add(transition, all.isEmpty() ? Transition.NEVER : all.get(0), true, !left, step, out);
        return;
      }
      for (Transition other : all) add(transition, other, true, true, step, out);
      Transition lonely =
          new Transition(
              rightWas ? StoredRow.NONE : transition.was(),
              rightIs ? StoredRow.NONE : transition.is());
      if (left) add(lonely, Transition.NEVER, true, false, step, out);
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

  /**
   * Emits the change of a pair, if any. Without a row that {@code needLeft} or {@code needRight}
   * requires, there is no pair.
   */
  private static void add(
      Transition one,
      Transition other,
      boolean needLeft,
      boolean needRight,
      StepSize.Step step,
      BlockBuilder out) {
    byte[] before = pair(one.was(), other.was(), needLeft, needRight);
    byte[] after = pair(one.is(), other.is(), needLeft, needRight);
    // A pair's time is derived from its rows, so that a later retraction carries the same time.
    // Therefore a new time is a change.
    long time =
        after == null ? Math.max(one.is().time(), other.is().time()) : time(one.is(), other.is());
    long beforeTime = time(one.was(), other.was());
    if (Change.same(before, after) && (before == null || time == beforeTime)) return;
    long version = step.version(Math.max(one.is().version(), other.is().version()));
    out.add(new Change(OUT, time, beforeTime, version, step.number(), before, after));
  }

  private static long time(StoredRow one, StoredRow other) {
    return Math.max(one.present() ? one.time() : 0, other.present() ? other.time() : 0);
  }

  private static byte[] pair(StoredRow one, StoredRow other, boolean needLeft, boolean needRight) {
    boolean none = !one.present() && !other.present();
    return none || (needLeft && !one.present()) || (needRight && !other.present())
        ? null
        : Pair.of(one.row(), other.row());
  }
}
