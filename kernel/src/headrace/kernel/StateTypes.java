package headrace.kernel;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The types in the state of Spark's own operators: Spark compares them with a checkpoint only when
 * the first rows arrive.
 */
public final class StateTypes {
  private StateTypes() {}

  /** The calls of aggregate functions with the types of their results: {@code sum(qty) bigint}. */
  public static List<String> aggregates(Dataset<Row> groups) {
    Set<String> calls = new LinkedHashSet<>();
    LogicalPlan plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) groups).queryExecution().analyzed();
    for (LogicalPlan node = plan; ; node = node.children().head()) {
      if (node instanceof Aggregate aggregate) {
        for (NamedExpression named : CollectionConverters.asJava(aggregate.aggregateExpressions()))
          add((Expression) named, calls);
        return List.copyOf(calls);
      }
      if (node.children().isEmpty()) return List.of();
    }
  }

  private static void add(Expression expression, Set<String> calls) {
    if (expression instanceof AggregateExpression call) {
      StringBuilder text =
          new StringBuilder(call.sql()).append(' ').append(call.dataType().simpleString());
      if (!(call.aggregateFunction() instanceof DeclarativeAggregate)) {
        // The state of such a function is bytes, which depend on the types of its arguments.
        for (Expression given : CollectionConverters.asJava(call.aggregateFunction().children())) {
          text.append(" of ").append(given.dataType().simpleString());
        }
      }
      calls.add(text.toString());
      return;
    }
    for (Expression child : CollectionConverters.asJava(expression.children())) add(child, calls);
  }

  /**
   * The columns that the joins of streams keep, of the left and of the right, after the optimizer
   * has pruned what nothing reads.
   */
  public static List<String> joins(Dataset<Row> rows) {
    org.apache.spark.sql.classic.Dataset<Row> frame =
        (org.apache.spark.sql.classic.Dataset<Row>) rows;
    LogicalPlan plan =
        frame.sparkSession().sessionState().optimizer().execute(frame.queryExecution().analyzed());
    List<String> joins = new ArrayList<>();
    joins(plan, joins);
    return joins;
  }

  private static void joins(LogicalPlan plan, List<String> joins) {
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) joins(child, joins);
    if (plan instanceof Join join && join.left().isStreaming() && join.right().isStreaming()) {
      joins.add(columns(join.left().output()) + " with " + columns(join.right().output()));
    }
  }

  private static String columns(Seq<Attribute> columns) {
    List<String> texts = new ArrayList<>();
    for (Attribute column : CollectionConverters.asJava(columns))
      texts.add(column.name() + " " + column.dataType().simpleString());
    return String.join(", ", texts);
  }
}
