package headrace.kernel.guard;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.ColumnNodeToExpressionConverter$;
import org.apache.spark.sql.classic.ExpressionUtils;
import scala.PartialFunction;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Extracts the calls of some functions from an expression.
 *
 * <pre>
 * for each call of a named function, innermost first:
 *   column prefix+n = the call of the function prefix+name with the same arguments
 *   replace the call in the expression by that column's field "value"
 * </pre>
 *
 * <p>So the result of a call is checked before the expression uses it.
 */
public final class FunctionCalls {
  private final List<String> names;
  private final String prefix;
  private final List<UnresolvedFunction> calls = new ArrayList<>();

  /**
   * @param names of the functions
   * @param prefix of the columns, which are called so and by their number; also that of the
   *     functions that are called instead
   */
  public FunctionCalls(List<String> names, String prefix) {
    this.names = names.stream().map(String::toLowerCase).toList();
    this.prefix = prefix;
  }

  /**
   * The number of calls so far. They must be computed in this order: later calls may use earlier
   * ones.
   */
  public int size() {
    return calls.size();
  }

  public Column[] arguments(int number) {
    return CollectionConverters.asJava(calls.get(number).arguments()).stream()
        .map(ExpressionUtils::column)
        .toArray(Column[]::new);
  }

  /** The call, with these arguments. */
  public Column call(int number, Column[] arguments) {
    UnresolvedFunction call = calls.get(number);
    List<Expression> over = Arrays.stream(arguments).map(ExpressionUtils::expression).toList();
    UnresolvedFunction guarded =
        call.copy(
            CollectionConverters.asScala(List.of(prefix + call.nameParts().head().toLowerCase()))
                .toSeq(),
            CollectionConverters.asScala(over).toSeq(),
            call.isDistinct(),
            call.filter(),
            call.ignoreNulls(),
            call.orderingWithinGroup(),
            call.isInternal());
    return ExpressionUtils.column(guarded).alias(prefix + number);
  }

  /** The expression over the columns of its calls, each of which is a struct with a value. */
  public Column without(Column column) {
    return ExpressionUtils.column(
        ColumnNodeToExpressionConverter$.MODULE$.apply(column.node()).transformUp(replaced()));
  }

  private PartialFunction<Expression, Expression> replaced() {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Expression expression) {
        return expression instanceof UnresolvedFunction call
            && call.nameParts().size() == 1
            && names.contains(call.nameParts().head().toLowerCase());
      }

      @Override
      public Expression apply(Expression expression) {
        String name = prefix + calls.size();
        calls.add((UnresolvedFunction) expression);
        return new UnresolvedAttribute(
            CollectionConverters.asScala(List.of(name, "value")).toSeq());
      }
    };
  }
}
