package headrace.kernel;

import headrace.kernel.block.BlockPlanning;
import headrace.kernel.source.Reading;
import headrace.kernel.time.AtBatch;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What a session adds to Spark (spark.sql.extensions). */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(session -> new AtBatch());
    extensions.injectPlannerStrategy(session -> new BlockPlanning());
    extensions.injectColumnar(session -> new Reading());
    return BoxedUnit.UNIT;
  }
}
