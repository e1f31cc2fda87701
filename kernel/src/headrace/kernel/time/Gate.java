package headrace.kernel.time;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.util.LongAccumulator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A predicate that drops late rows, by the watermark that Spark's own operators use.
 *
 * <pre>
 * planning a batch ({@link AtBatch}): replace each gate by one that has the watermark of the
 *   batch before ({@link Moment}) and a counter
 * for each row: end &gt; watermark: pass
 *               else, if fails: fail the query with {@link LateException}
 *               else: count it, and drop it
 * </pre>
 *
 * <p>In an analyzed plan a gate is an object in a literal, without a watermark. Because it stays an
 * object, the generated code is the same for every batch. {@link #watermark} is the watermark
 * itself, by which the kernel's operators drop late events.
 */
public final class Gate implements Serializable {
  private static final long NEVER = Long.MIN_VALUE;
  private static final Map<String, LongAccumulator> COUNTS = new ConcurrentHashMap<>();

  private final boolean fails;
  private final boolean counts;
  private final boolean known;
  private final long watermark;
  private final LongAccumulator late;

  private Gate(boolean fails, boolean counts, boolean known, long watermark, LongAccumulator late) {
    this.fails = fails;
    this.counts = counts;
    this.known = known;
    this.watermark = watermark;
    this.late = late;
  }

  /**
   * Whether a window or row that ends then (microseconds) is still open. A late one is counted, or
   * fails the query.
   */
  public static Column open(Column end, boolean fails) {
    return call(new Gate(fails, true, false, NEVER, null), "passes", DataTypes.BooleanType, end);
  }

  /** The time up to which windows are closed, in microseconds. */
  public static Column watermark() {
    return call(new Gate(false, false, false, NEVER, null), "closed", DataTypes.LongType);
  }

  /** Returns and removes the number of late rows of a batch. */
  public static long late(String run, long batch) {
    LongAccumulator count = COUNTS.remove(run + " " + batch);
    return count == null ? 0 : count.value();
  }

  private static Column call(Gate gate, String method, DataType type, Column... arguments) {
    return ExpressionUtils.column(
        new Invoke(
            new Literal(gate, new ObjectType(Gate.class)),
            method,
            type,
            CollectionConverters.asScala(
                    Arrays.stream(arguments).map(ExpressionUtils::expression).toList())
                .toSeq(),
            CollectionConverters.asScala(java.util.List.<AbstractDataType>of()).toSeq(),
            false,
            false,
            false));
  }

  static boolean isUnknown(Expression expression) {
    return expression instanceof Literal literal
        && literal.value() instanceof Gate gate
        && !gate.known;
  }

  static Expression known(Expression gate, Moment moment) {
    Gate of = (Gate) ((Literal) gate).value();
    LongAccumulator late =
        of.counts
            ? COUNTS.computeIfAbsent(moment.run() + " " + moment.batch(), moment::counter)
            : null;
    return new Literal(
        new Gate(of.fails, of.counts, true, moment.watermark(), late), new ObjectType(Gate.class));
  }

  public boolean passes(long end) {
    if (end > watermark) return true;
    if (fails) throw new LateException(end, watermark);
    late.add(1L);
    return false;
  }

  public long closed() {
    return watermark;
  }
}
