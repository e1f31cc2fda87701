package headrace.kernel;

import java.util.ArrayList;
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
 * Takes the calls of some functions out of an expression: each becomes a column of its own, and the expression uses that. So one can
 * look at what a call gave before what is made of it.
 */
public final class FunctionCalls {
  private final List<String> names;
  private final String prefix;
  private final List<Column> calls = new ArrayList<>();

  /**
   * @param names of the functions
   * @param prefix of the columns, which are called so and by their number; also that of the functions that are called instead
   */
  public FunctionCalls(List<String> names, String prefix) {
    this.names = names.stream().map(String::toLowerCase).toList();
    this.prefix = prefix;
  }

  /** The calls so far, in the order in which they can be computed: later ones may use earlier ones. */
  public List<Column> calls() {
    return calls;
  }

  /** The expression over the columns of its calls, each of which is a struct with a value. */
  public Column without(Column column) {
    return ExpressionUtils.column(ColumnNodeToExpressionConverter$.MODULE$.apply(column.node()).transformUp(replaced()));
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
        UnresolvedFunction call = (UnresolvedFunction) expression;
        UnresolvedFunction guarded =
            call.copy(
                CollectionConverters.asScala(List.of(prefix + call.nameParts().head().toLowerCase())).toSeq(),
                call.arguments(), call.isDistinct(), call.filter(), call.ignoreNulls(), call.orderingWithinGroup(), call.isInternal());
        String name = prefix + calls.size();
        calls.add(ExpressionUtils.column(guarded).alias(name));
        return new UnresolvedAttribute(CollectionConverters.asScala(List.of(name, "value")).toSeq());
      }
    };
  }
}
