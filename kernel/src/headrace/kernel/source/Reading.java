package headrace.kernel.source;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import scala.runtime.AbstractPartialFunction;

/**
 * Plans the reading of topics by {@link TopicReader}. Real-time mode has a scan of its own, which
 * stays.
 */
public final class Reading extends ColumnarRule {
  @Override
  public Rule<SparkPlan> preColumnarTransitions() {
    return new Rule<>() {
      @Override
      public SparkPlan apply(SparkPlan plan) {
        return plan.transformUp(new Ours());
      }
    };
  }

  private static final class Ours extends AbstractPartialFunction<SparkPlan, SparkPlan> {
    @Override
    public boolean isDefinedAt(SparkPlan plan) {
      return plan instanceof MicroBatchScanExec scan
          && scan.stream() instanceof KafkaMicroBatchStream;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      return new TopicExec((MicroBatchScanExec) plan);
    }
  }
}
