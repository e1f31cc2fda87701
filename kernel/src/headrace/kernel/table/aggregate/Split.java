package headrace.kernel.table.aggregate;

import headrace.kernel.table.aggregate.Call.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ApproximatePercentile;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.CentralMomentAgg;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectSet;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxBy;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxMinByK;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.MinBy;
import org.apache.spark.sql.catalyst.expressions.aggregate.StddevPop;
import org.apache.spark.sql.catalyst.expressions.aggregate.StddevSamp;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.aggregate.VariancePop;
import org.apache.spark.sql.catalyst.expressions.aggregate.VarianceSamp;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Aggregate expressions, taken apart: the calls of aggregate functions in them, the arguments of
 * these over a frame's columns, and what is left to compute of their results. Spark reads the
 * expressions, so that types and errors are Spark's.
 */
public final class Split {
  private static final String RESULT = "_r";

  private final List<Call> calls = new ArrayList<>();
  private final List<Column> arguments = new ArrayList<>();
  private final List<Column> results = new ArrayList<>();

  private Split() {}

  /**
   * Over the columns of a frame. Throws an IllegalArgumentException for an aggregate that can't
   * retract a row.
   */
  public static Split of(Dataset<Row> frame, Column[] expressions) {
    Split split = new Split();
    Dataset<Row> aggregated =
        frame.groupBy().agg(expressions[0], Arrays.copyOfRange(expressions, 1, expressions.length));
    Aggregate plan =
        (Aggregate)
            ((org.apache.spark.sql.classic.Dataset<Row>) aggregated).queryExecution().analyzed();
    for (NamedExpression named : CollectionConverters.asJava(plan.aggregateExpressions())) {
      split.results.add(
          ExpressionUtils.column(
              split.without(named instanceof Alias alias ? alias.child() : (Expression) named)));
    }
    return split;
  }

  /** The row of arguments; it has at least one column. */
  public Column[] arguments() {
    return arguments.isEmpty() ? new Column[] {functions.lit(0)} : arguments.toArray(Column[]::new);
  }

  /** The expressions, over the results of the calls: columns _r0, _r1, … */
  public Column[] results() {
    return results.toArray(Column[]::new);
  }

  /** The type of the row of results. */
  public StructType type() {
    StructType type = new StructType();
    for (int i = 0; i < calls.size(); i++) type = type.add(RESULT + i, calls.get(i).result());
    return type;
  }

  public Calls calls() {
    return new Calls(calls.toArray(Call[]::new), Math.max(arguments.size(), 1));
  }

  /** The expression with each call replaced by the column of its result. */
  private Expression without(Expression expression) {
    if (expression instanceof AggregateExpression call) {
      calls.add(call(call));
      return UnresolvedAttribute.quoted(RESULT + (calls.size() - 1));
    }
    List<Expression> children = new ArrayList<>();
    for (Expression child : CollectionConverters.asJava(expression.children()))
      children.add(without(child));
    return expression.withNewChildren(CollectionConverters.asScala(children).toIndexedSeq());
  }

  private Call call(AggregateExpression call) {
    Expression function = call.aggregateFunction();
    while (function instanceof RuntimeReplaceable other) function = other.replacement();
    if (call.isDistinct() && !(function instanceof Count)) throw refused(call);
    if (function instanceof Count count) {
      for (Expression value : CollectionConverters.asJava(count.children())) {
        if (call.isDistinct()
            && value.dataType() instanceof StringType text
            && !text.supportsBinaryEquality()) throw refused(call);
      }
      return add(
          call,
          call.isDistinct() ? Kind.COUNT_DISTINCT : Kind.COUNT,
          CollectionConverters.asJava(count.children()),
          0,
          false);
    }
    if (function instanceof Sum sum)
      return add(call, Kind.SUM, List.of(numeric(sum.child(), call)), 0, false);
    if (function instanceof Average average)
      return add(call, Kind.AVERAGE, List.of(numeric(average.child(), call)), 0, false);
    if (function instanceof CentralMomentAgg moment)
      return add(call, kind(moment, call), List.of(numeric(moment.child(), call)), 0, false);
    if (function instanceof ApproximatePercentile percentile) {
      return add(
          call,
          Kind.PERCENTILE,
          List.of(numeric(percentile.child(), call)),
          0,
          false,
          parts(percentile.percentageExpression()));
    }
    if (function instanceof Min min)
      return add(call, Kind.MIN, List.of(ordered(min.child(), call)), 1, false);
    if (function instanceof Max max)
      return add(call, Kind.MAX, List.of(ordered(max.child(), call)), 1, false);
    if (function instanceof MinBy by)
      return add(
          call, Kind.MIN_BY, List.of(by.valueExpr(), ordered(by.orderingExpr(), call)), 1, true);
    if (function instanceof MaxBy by)
      return add(
          call, Kind.MAX_BY, List.of(by.valueExpr(), ordered(by.orderingExpr(), call)), 1, true);
    if (function instanceof MaxMinByK by) {
      Kind kind = by.reverse() ? Kind.SMALLEST_BY : Kind.LARGEST_BY;
      return add(
          call, kind, List.of(by.valueExpr(), ordered(by.orderingExpr(), call)), by.k(), true);
    }
    if (function instanceof First first)
      return add(call, Kind.FIRST, List.of(first.child()), 1, !first.ignoreNulls());
    if (function instanceof Last last)
      return add(call, Kind.LAST, List.of(last.child()), 1, !last.ignoreNulls());
    if (function instanceof CollectList list)
      return add(call, Kind.LIST, List.of(list.child()), 0, false);
    if (function instanceof CollectSet set)
      return add(call, Kind.SET, List.of(ordered(set.child(), call)), 0, false);
    throw refused(call);
  }

  private static Kind kind(CentralMomentAgg moment, AggregateExpression call) {
    if (moment instanceof VariancePop) return Kind.VAR_POP;
    if (moment instanceof VarianceSamp) return Kind.VAR_SAMP;
    if (moment instanceof StddevPop) return Kind.STDDEV_POP;
    if (moment instanceof StddevSamp) return Kind.STDDEV_SAMP;
    throw refused(call);
  }

  /**
   * One number, or an array of them; Spark has seen to it that they are constants between 0 and 1.
   */
  private static double[] parts(Expression percentage) {
    Object value = percentage.eval(null);
    return value instanceof ArrayData many ? many.toDoubleArray() : new double[] {(Double) value};
  }

  private Call add(
      AggregateExpression call,
      Kind kind,
      List<Expression> values,
      int most,
      boolean nulls,
      double... parts) {
    int first = arguments.size();
    for (Expression value : values) arguments.add(ExpressionUtils.column(value));
    int filter = -1;
    if (call.filter().isDefined()) {
      filter = arguments.size();
      arguments.add(ExpressionUtils.column(call.filter().get()));
    }
    return new Call(
        kind,
        first,
        values.stream().map(Expression::dataType).toArray(DataType[]::new),
        filter,
        most,
        nulls,
        call.dataType(),
        parts);
  }

  private static Expression numeric(Expression value, AggregateExpression call) {
    if (!Sums.takes(value.dataType())) throw refused(call);
    return value;
  }

  private static Expression ordered(Expression value, AggregateExpression call) {
    if (!OrderBytes.takes(value.dataType())) throw refused(call);
    return value;
  }

  private static IllegalArgumentException refused(AggregateExpression call) {
    return new IllegalArgumentException(
        call.sql()
            + " can't follow a table: when a row changes or is deleted, its contribution can't be"
            + " retracted");
  }
}
