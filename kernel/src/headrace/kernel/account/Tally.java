package headrace.kernel.account;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.TaskContext;
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
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Notes the fate of a row's record; part of a condition.
 *
 * <pre>
 * planning a batch ({@code AtBatch}): replace each tally by one with the batch's {@link Account}
 * for each row: if its offset is in the open range: nothing; if it follows it: extend the range
 *               else: report the range, and open another
 * at the end of the task: report the range
 * </pre>
 *
 * <p>In an analyzed plan a tally is an object in a literal, without a batch. It is
 * non-deterministic, so that the optimizer neither moves nor removes it. Records arrive in the
 * order of the log, so a note is mostly one comparison.
 */
public final class Tally implements Serializable {
  private final Fate fate;
  private final boolean answer;
  private final Records records;
  private final LongAccumulator emitted;

  private transient UTF8String topic;
  private transient int partition;
  private transient String place;
  private transient long from;
  private transient long until;
  private transient long rows;
  private transient boolean listening;

  private Tally(Fate fate, boolean answer, Records records, LongAccumulator emitted) {
    this.fate = fate;
    this.answer = answer;
    this.records = records;
    this.emitted = emitted;
  }

  /**
   * Notes the fate of the record at that place; the condition's value is {@code answer}. Not called
   * `note`: of two methods with one name, py4j calls the first it finds.
   */
  public static Column noting(
      String fate, boolean answer, Column topic, Column partition, Column offset) {
    return call(
        new Tally(Fate.valueOf(fate), answer, null, null), "note", topic, partition, offset);
  }

  /** Counts a row of the output; true. */
  public static Column emitting() {
    return call(new Tally(null, true, null, null), "emitted");
  }

  private static Column call(Tally tally, String method, Column... arguments) {
    return ExpressionUtils.column(
        new Invoke(
            new Literal(tally, new ObjectType(Tally.class)),
            method,
            DataTypes.BooleanType,
            CollectionConverters.asScala(
                    Arrays.stream(arguments).map(ExpressionUtils::expression).toList())
                .toSeq(),
            CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
            false,
            false,
            false));
  }

  public static boolean isUnknown(Expression expression) {
    return expression instanceof Literal literal
        && literal.value() instanceof Tally tally
        && tally.records == null
        && tally.emitted == null;
  }

  public static Expression known(Expression tally, SparkSession session, String run, long batch) {
    Tally of = (Tally) ((Literal) tally).value();
    Account account = Account.of(session, run, batch);
    Tally known =
        of.fate == null
            ? new Tally(null, true, null, account.emitted())
            : new Tally(of.fate, of.answer, account.records(of.fate), null);
    return new Literal(known, new ObjectType(Tally.class));
  }

  public boolean note(UTF8String topic, int partition, long offset) {
    boolean follows =
        from <= offset
            && offset <= until
            && partition == this.partition
            && topic.equals(this.topic);
    if (!follows && records != null) begin(topic, partition, offset);
    if (offset == until) until++;
    return answer;
  }

  private void begin(UTF8String topic, int partition, long offset) {
    flush();
    if (this.topic == null || partition != this.partition || !topic.equals(this.topic)) {
      this.topic = topic.copy();
      this.partition = partition;
      place = topic + "/" + partition;
    }
    from = offset;
    until = offset;
  }

  public boolean emitted() {
    if (!listening) listen();
    rows++;
    return true;
  }

  private void flush() {
    if (!listening) listen();
    if (from < until) records.add(new Records.Stretch(place, from, until));
    from = until;
  }

  /**
   * By what it notes and where: so equal parts of a plan stay equal, and Spark computes them once.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof Tally that
        && fate == that.fate
        && answer == that.answer
        && records == that.records
        && emitted == that.emitted;
  }

  @Override
  public int hashCode() {
    return Objects.hash(
        fate, answer, System.identityHashCode(records), System.identityHashCode(emitted));
  }

  private void listen() {
    listening = true;
    TaskContext task = TaskContext.get();
    if (task != null) task.addTaskCompletionListener((TaskCompletionListener) done -> end());
  }

  /** Spark sends the accumulators after it has called the task's completion listeners. */
  private void end() {
    if (records != null) flush();
    if (emitted != null) emitted.add(rows);
    rows = 0;
  }
}
