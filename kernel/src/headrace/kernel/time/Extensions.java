package headrace.kernel.time;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What Spark is told about when a session starts (spark.sql.extensions). */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(
        new AbstractFunction1<>() {
          @Override
          public AtBatch apply(org.apache.spark.sql.SparkSession session) {
            return new AtBatch();
          }
        });
    return BoxedUnit.UNIT;
  }
}
