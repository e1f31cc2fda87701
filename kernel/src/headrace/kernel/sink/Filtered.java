package headrace.kernel.sink;

import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** How many records the conditions of a query left out, before anything that keeps state: Spark counts what its filters let through. */
final class Filtered {
  private static final String ROWS = "numOutputRows";
  private static final long UNKNOWN = -1;

  private Filtered() {}

  /** Of the batch that this thread has just run. */
  static long now() {
    SparkSession session = SparkSession.active();
    String id = session.sparkContext().getLocalProperty("sql.streaming.queryId");
    if (id == null) return 0;
    StreamExecution query =
        ((org.apache.spark.sql.classic.SparkSession) session).sharedState().activeStreamingQueries().get(UUID.fromString(id));
    return query == null || query.lastExecution() == null ? 0 : below(query.lastExecution().executedPlan());
  }

  private static long below(SparkPlan plan) {
    long sum = 0;
    for (SparkPlan child : CollectionConverters.asJava(plan.children())) sum += below(child);
    if (!(plan instanceof FilterExec filter) || isOurs(filter.condition()) || keepsState(filter)) return sum;
    long in = rows(filter.child());
    long out = rows(filter);
    return in == UNKNOWN || out == UNKNOWN ? sum : sum + in - out;
  }

  /** A plan that says how many rows it gives, or whose input gives as many. */
  private static long rows(SparkPlan plan) {
    Option<SQLMetric> counted = plan.metrics().get(ROWS);
    if (counted.isDefined()) return counted.get().value();
    if (plan instanceof UnionExec) {
      long sum = 0;
      for (SparkPlan child : CollectionConverters.asJava(plan.children())) {
        long each = rows(child);
        if (each == UNKNOWN) return UNKNOWN;
        sum += each;
      }
      return sum;
    }
    return plan.children().size() == 1 ? rows(plan.children().head()) : UNKNOWN;
  }

  private static boolean keepsState(SparkPlan plan) {
    return plan.exists(node -> node instanceof StatefulOperator);
  }

  /** Conditions of our own: what they leave out is counted as what it is, dead or late. */
  private static boolean isOurs(Expression condition) {
    return condition.exists(
        part ->
            part instanceof Literal literal
                && literal.value() != null
                && literal.value().getClass().getName().startsWith("headrace.kernel."))
        || condition.references().exists(column -> column.name().equals("advance"));
  }
}
