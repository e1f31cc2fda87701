package headrace.kernel;

import headrace.kernel.source.Reading;
import headrace.kernel.table.Planning;
import headrace.kernel.time.AtBatch;
import org.apache.spark.sql.SparkSession;
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
          public AtBatch apply(SparkSession session) {
            return new AtBatch();
          }
        });
    extensions.injectPlannerStrategy(
        new AbstractFunction1<>() {
          @Override
          public Planning apply(SparkSession session) {
            return new Planning();
          }
        });
    extensions.injectColumnar(
        new AbstractFunction1<>() {
          @Override
          public Reading apply(SparkSession session) {
            return new Reading();
          }
        });
    return BoxedUnit.UNIT;
  }
}
