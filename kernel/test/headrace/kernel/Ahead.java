package headrace.kernel;

import java.util.function.LongSupplier;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * An operator whose rows see a watermark before its timers do: in Spark the rows of a batch come
 * first, then its timers.
 */
public final class Ahead extends StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> {
  private final StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> operator;
  private final LongSupplier watermark;

  public Ahead(
      StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> operator, LongSupplier watermark) {
    this.operator = operator;
    this.watermark = watermark;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    operator.setHandle(getHandle());
    operator.init(mode, time);
  }

  @Override
  public Iterator<byte[]> handleInputRows(
      byte[] key, Iterator<Tuple2<byte[], byte[]>> rows, TimerValues times) {
    return operator.handleInputRows(
        key,
        rows,
        new TimerValues() {
          @Override
          public long getCurrentProcessingTimeInMs() {
            return times.getCurrentProcessingTimeInMs();
          }

          @Override
          public long getCurrentWatermarkInMs() {
            return Math.max(watermark.getAsLong(), times.getCurrentWatermarkInMs());
          }
        });
  }

  @Override
  public Iterator<byte[]> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo timer) {
    return operator.handleExpiredTimer(key, times, timer);
  }
}
