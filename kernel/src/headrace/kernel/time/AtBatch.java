package headrace.kernel.time;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;

/** Tells the gates of a plan, each time a batch is planned, the watermark of that batch. */
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
        return Gate.isUnknown(expression);
      }

      @Override
      public Expression apply(Expression gate) {
        return Gate.known(gate, moment);
      }
    };
  }
}
