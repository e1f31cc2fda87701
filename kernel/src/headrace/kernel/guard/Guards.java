package headrace.kernel.guard;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Takes a frame's expressions apart, so that a row on which one fails can be found.
 *
 * <pre>
 * for each expression: analyze it
 *   if nothing in it can fail ({@link Risk}): leave it as it is
 *   else: column prefix+n = {@link Guard}(the expression); use that column instead
 *   in aggregates: guard the arguments and filters of calls, where a row is still one record
 * last column: prefix = the cause, if a guard failed on this row
 * </pre>
 */
public final class Guards {
  private final String prefix;
  private final Failure failure = new Failure();
  private final List<Column> columns = new ArrayList<>();
  private final List<Column> over = new ArrayList<>();

  private Guards(String prefix) {
    this.prefix = prefix;
  }

  /**
   * @param prefix of the columns, which are called so and by their number; the last, without a
   *     number, is the cause
   */
  public static Guards of(Dataset<Row> frame, Column[] expressions, String prefix) {
    Guards guards = new Guards(prefix);
    if (!(analyzed(frame.select(expressions)) instanceof Project project))
      return guards.without(expressions);
    List<NamedExpression> named = CollectionConverters.asJava(project.projectList());
    if (named.size() != expressions.length) return guards.without(expressions);
    for (int i = 0; i < expressions.length; i++) {
      Expression expression =
          named.get(i) instanceof Alias alias ? alias.child() : (Expression) named.get(i);
      guards.over.add(
          Risk.of(expression)
              ? ExpressionUtils.column(guards.guarded(expression))
              : expressions[i]);
    }
    return guards.done();
  }

  public static Guards ofAggregates(Dataset<Row> frame, Column[] expressions, String prefix) {
    Guards guards = new Guards(prefix);
    Dataset<Row> aggregated =
        frame.groupBy().agg(expressions[0], Arrays.copyOfRange(expressions, 1, expressions.length));
    if (!(analyzed(aggregated) instanceof Aggregate aggregate)) return guards.without(expressions);
    List<NamedExpression> named = CollectionConverters.asJava(aggregate.aggregateExpressions());
    if (named.size() != expressions.length) return guards.without(expressions);
    for (int i = 0; i < expressions.length; i++) {
      int before = guards.columns.size();
      Expression rest =
          guards.overArguments(
              named.get(i) instanceof Alias alias ? alias.child() : (Expression) named.get(i));
      guards.over.add(
          guards.columns.size() == before
              ? expressions[i]
              : ExpressionUtils.column(rest).alias(named.get(i).name()));
    }
    return guards.done();
  }

  /**
   * What the frame needs besides its own columns; nothing, or guarded expressions and the cause
   * where one of them fails.
   */
  public Column[] columns() {
    return columns.toArray(Column[]::new);
  }

  /** The expressions over these. */
  public Column[] over() {
    return over.toArray(Column[]::new);
  }

  private Guards without(Column[] expressions) {
    over.addAll(List.of(expressions));
    return this;
  }

  private Guards done() {
    if (columns.isEmpty()) return this;
    columns.add(
        ExpressionUtils.column(
                new Invoke(
                    new Literal(failure, new ObjectType(Failure.class)),
                    "take",
                    DataTypes.StringType,
                    CollectionConverters.asScala(List.<Expression>of()).toSeq(),
                    CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
                    false,
                    true,
                    false))
            .alias(prefix));
    return this;
  }

  private Expression guarded(Expression expression) {
    String name = prefix + columns.size();
    columns.add(ExpressionUtils.column(new Guard(expression, failure)).alias(name));
    return UnresolvedAttribute.quoted(name);
  }

  private Expression overArguments(Expression expression) {
    if (!(expression instanceof AggregateExpression call))
      return with(expression, map(expression, this::overArguments));
    // An argument is computed only where the filter holds.
    Expression function = arguments((Expression) call.aggregateFunction(), call.filter());
    Option<Expression> filter =
        call.filter().isDefined() && Risk.of(call.filter().get())
            ? Option.apply(guarded(call.filter().get()))
            : call.filter();
    return call.copy(
        (org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction) function,
        call.mode(),
        call.isDistinct(),
        filter,
        call.resultId());
  }

  private Expression arguments(Expression function, Option<Expression> filter) {
    return with(
        function,
        map(
            function,
            argument -> {
              boolean inside =
                  argument instanceof SortOrder || function instanceof RuntimeReplaceable;
              if (inside) return arguments(argument, filter);
              if (argument.foldable() || !Risk.of(argument)) return argument;
              return guarded(
                  filter.isEmpty()
                      ? argument
                      : new If(filter.get(), argument, Literal.create(null, argument.dataType())));
            }));
  }

  private static List<Expression> map(
      Expression parent, java.util.function.UnaryOperator<Expression> change) {
    return CollectionConverters.asJava(parent.children()).stream().map(change).toList();
  }

  private static Expression with(Expression parent, List<Expression> children) {
    List<Expression> before = CollectionConverters.asJava(parent.children());
    for (int i = 0; i < children.size(); i++) {
      if (children.get(i) != before.get(i))
        return parent.withNewChildren(CollectionConverters.asScala(children).toIndexedSeq());
    }
    return parent;
  }

  private static LogicalPlan analyzed(Dataset<Row> frame) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) frame).queryExecution().analyzed();
  }
}
