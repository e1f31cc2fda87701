package headrace.kernel.time;

import headrace.kernel.account.Tally;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;

/**
 * When a batch is planned, replaces the plan's gates by gates with its watermark, and the tallies
 * by tallies with its account.
 */
public final class AtBatch extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Moment moment = Moment.now();
    return moment == null ? plan : plan.transformAllExpressions(at(moment));
  }

  private static PartialFunction<Expression, Expression> at(Moment moment) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Expression expression) {
        return Gate.isUnknown(expression) || Tally.isUnknown(expression);
      }

      @Override
      public Expression apply(Expression expression) {
        if (Gate.isUnknown(expression)) return Gate.known(expression, moment);
        return Tally.known(expression, moment.session(), moment.run(), moment.batch());
      }
    };
  }
}
