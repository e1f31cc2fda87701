package headrace.kernel.window;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Aggregate expressions, split into the calls of aggregate functions, their arguments over a
 * frame's columns, and the expressions over their results. Spark analyzes them and its own
 * functions compute them, so all of its functions are available.
 *
 * <p>A call or an argument that occurs twice is computed once.
 */
public final class Aggregates {
  private static final String RESULT = "_r";

  private final List<AggregateFunction> functions = new ArrayList<>();
  private final List<Integer> filters = new ArrayList<>();
  private final List<Expression> arguments = new ArrayList<>();
  private final List<Column> results = new ArrayList<>();
  private final Map<Expression, Integer> calls = new HashMap<>();
  private final Map<Expression, Integer> places = new HashMap<>();

  private Aggregates() {}

  /**
   * Over the columns of a frame. Throws an IllegalArgumentException for an aggregate that a buffer
   * per window can't compute.
   */
  public static Aggregates of(Dataset<Row> frame, Column[] expressions) {
    Aggregates aggregates = new Aggregates();
    Dataset<Row> aggregated =
        frame.groupBy().agg(expressions[0], Arrays.copyOfRange(expressions, 1, expressions.length));
    Aggregate plan =
        (Aggregate)
            ((org.apache.spark.sql.classic.Dataset<Row>) aggregated).queryExecution().analyzed();
    for (NamedExpression named : CollectionConverters.asJava(plan.aggregateExpressions())) {
      Expression rest =
          aggregates.without(named instanceof Alias alias ? alias.child() : (Expression) named);
      aggregates.results.add(ExpressionUtils.column(rest));
    }
    if (aggregates.arguments.isEmpty()) aggregates.place(new Literal(0, DataTypes.IntegerType));
    return aggregates;
  }

  /** The row of arguments; it has at least one column. */
  public Column[] arguments() {
    return arguments.stream().map(ExpressionUtils::column).toArray(Column[]::new);
  }

  /** The expressions, over the results of the calls: columns _r0, _r1, … */
  public Column[] results() {
    return results.toArray(Column[]::new);
  }

  /** The type of the row of results. */
  public StructType type() {
    StructType type = new StructType();
    for (int i = 0; i < functions.size(); i++)
      type = type.add(RESULT + i, functions.get(i).dataType());
    return type;
  }

  public Functions functions() {
    return new Functions(
        functions.toArray(AggregateFunction[]::new),
        filters.stream().mapToInt(Integer::intValue).toArray(),
        arguments.stream().map(Expression::dataType).toArray(DataType[]::new));
  }

  /** The expression with each call replaced by the column of its result. */
  private Expression without(Expression expression) {
    if (expression instanceof AggregateExpression call)
      return UnresolvedAttribute.quoted(RESULT + index(call));
    List<Expression> children = new ArrayList<>();
    for (Expression child : CollectionConverters.asJava(expression.children()))
      children.add(without(child));
    return with(expression, children);
  }

  private int index(AggregateExpression call) {
    Integer known = call.deterministic() ? calls.get(call.canonicalized()) : null;
    if (known != null) return known;
    functions.add(function(call));
    filters.add(call.filter().isDefined() ? place(call.filter().get()) : -1);
    calls.put(call.canonicalized(), functions.size() - 1);
    return functions.size() - 1;
  }

  private AggregateFunction function(AggregateExpression call) {
    if (call.isDistinct()) throw refused(call, "a window keeps no list of the values it has seen");
    Expression function = call.aggregateFunction();
    while (function instanceof RuntimeReplaceable other) function = other.replacement();
    if (!(function instanceof DeclarativeAggregate) && !(function instanceof ImperativeAggregate)) {
      throw refused(
          call,
          "only functions that are Spark's own, or written in Java or Scala, can be computed"
              + " there");
    }
    return (AggregateFunction) overArguments(function);
  }

  private Expression overArguments(Expression parent) {
    List<Expression> children = new ArrayList<>();
    for (Expression child : CollectionConverters.asJava(parent.children()))
      children.add(argument(child));
    return with(parent, children);
  }

  /**
   * A constant stays in the call, where some functions look for it; anything else becomes a column
   * of the row of arguments.
   */
  private Expression argument(Expression value) {
    if (value instanceof SortOrder) return overArguments(value);
    if (value instanceof Literal) return value;
    if (isConstant(value)) return new Literal(value.eval(null), value.dataType());
    return new BoundReference(place(value), value.dataType(), value.nullable());
  }

  /** Not the current time, nor what only Spark's optimizer can make sense of. */
  private static boolean isConstant(Expression value) {
    return value.foldable()
        && !value.containsPattern(TreePattern.CURRENT_LIKE())
        && !value.containsPattern(TreePattern.RUNTIME_REPLACEABLE());
  }

  private int place(Expression value) {
    Integer known = value.deterministic() ? places.get(value.canonicalized()) : null;
    if (known != null) return known;
    arguments.add(value);
    places.put(value.canonicalized(), arguments.size() - 1);
    return arguments.size() - 1;
  }

  private static Expression with(Expression parent, List<Expression> children) {
    return parent.withNewChildren(CollectionConverters.asScala(children).toIndexedSeq());
  }

  private static IllegalArgumentException refused(AggregateExpression call, String reason) {
    return new IllegalArgumentException(
        call.sql() + " can't be computed in these windows: " + reason);
  }
}
