package headrace.kernel.sink;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.AccumulatorV2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The bad records of a batch. Tasks report their places; their bytes are read again from the log
 * when the batch is committed, so that good records pay nothing. A record counts once, however
 * often its task runs.
 */
public final class DeadLetters extends AccumulatorV2<DeadLetter, Map<String, DeadLetter>> {
  private static final int LONGEST = 1000;

  private final Map<String, DeadLetter> deadLetters = new LinkedHashMap<>();
  private final transient Map<Long, Integer> oversized = new ConcurrentHashMap<>();

  public static DeadLetters of(SparkSession session, String query) {
    DeadLetters deadLetters = new DeadLetters();
    session.sparkContext().register(deadLetters, "dead letters of " + query);
    return deadLetters;
  }

  /** A condition that holds for rows without a cause, and reports the others. */
  public static Column good(
      DeadLetters deadLetters,
      String operator,
      Column cause,
      Column topic,
      Column partition,
      Column offset) {
    List<Expression> arguments =
        List.of(
            Literal.create(UTF8String.fromString(operator), DataTypes.StringType),
            ExpressionUtils.expression(cause),
            ExpressionUtils.expression(topic),
            ExpressionUtils.expression(partition),
            ExpressionUtils.expression(offset));
    // Non-deterministic: a filter that was moved before this one would hide bad records.
    return ExpressionUtils.column(
        new Invoke(
            new Literal(deadLetters, new ObjectType(DeadLetters.class)),
            "judge",
            DataTypes.BooleanType,
            CollectionConverters.asScala(arguments).toSeq(),
            CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
            false,
            false,
            false));
  }

  /** Not another {@code good}: of two methods of one name, Python finds whichever comes first. */
  public boolean judge(
      UTF8String operator, UTF8String cause, UTF8String topic, int partition, long offset) {
    if (cause == null) return true;
    String why = cause.toString();
    add(
        new DeadLetter(
            topic.toString(),
            partition,
            offset,
            operator.toString(),
            why.substring(0, Math.min(why.length(), LONGEST))));
    return false;
  }

  /** Notes how many rows of a batch were too large for their topic. */
  public void note(long batch, int oversized) {
    if (oversized > 0) this.oversized.put(batch, oversized);
  }

  /** Returns and removes the number of a batch's rows that were too large for their topic. */
  public int oversized(long batch) {
    return Objects.requireNonNullElse(oversized.remove(batch), 0);
  }

  /** Returns and removes what was reported so far. */
  public synchronized List<DeadLetter> take() {
    List<DeadLetter> taken = List.copyOf(deadLetters.values());
    deadLetters.clear();
    return taken;
  }

  @Override
  public synchronized void add(DeadLetter deadLetter) {
    deadLetters.putIfAbsent(deadLetter.id(), deadLetter);
  }

  @Override
  public synchronized void merge(AccumulatorV2<DeadLetter, Map<String, DeadLetter>> other) {
    other.value().values().forEach(this::add);
  }

  @Override
  public synchronized Map<String, DeadLetter> value() {
    return deadLetters;
  }

  @Override
  public synchronized boolean isZero() {
    return deadLetters.isEmpty();
  }

  @Override
  public synchronized void reset() {
    deadLetters.clear();
  }

  @Override
  public synchronized AccumulatorV2<DeadLetter, Map<String, DeadLetter>> copy() {
    DeadLetters copy = new DeadLetters();
    copy.deadLetters.putAll(deadLetters);
    return copy;
  }
}
