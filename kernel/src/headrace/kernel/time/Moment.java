package headrace.kernel.time;

import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.util.LongAccumulator;
import scala.Option;

/**
 * The batch that is being planned in this thread: its run, its number, and the watermark
 * (microseconds) below which rows are late.
 */
record Moment(SparkSession session, String run, long batch, long watermark) {
  /** Null outside of a stream. */
  static Moment now() {
    SparkSession session = SparkSession.active();
    String id = session.sparkContext().getLocalProperty("sql.streaming.queryId");
    if (id == null) return null;
    StreamExecution query =
        ((org.apache.spark.sql.classic.SparkSession) session)
            .sharedState()
            .activeStreamingQueries()
            .get(UUID.fromString(id));
    if (query == null) return null;
    IncrementalExecution batch = query.lastExecution();
    if (batch == null) return null;
    // As in Spark: rows are late by the watermark of the batch before; that of the batch closes
    // windows after its rows are added.
    Option<OffsetSeqMetadataBase> before = batch.prevOffsetSeqMetadata();
    long millis = before.isDefined() ? before.get().batchWatermarkMs() : 0;
    return new Moment(
        session,
        query.runId().toString(),
        batch.currentBatchId(),
        millis == 0 ? Long.MIN_VALUE : millis * 1000);
  }

  LongAccumulator counter(String name) {
    return session.sparkContext().longAccumulator(name);
  }
}
