package headrace.kernel.source;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * The records of a micro-batch, read by {@link TopicReader}. Spark's scan below plans the ranges,
 * and its metrics count the records.
 */
public final class TopicExec extends SparkPlan {
  private final MicroBatchScanExec scan;

  /** Public, with the product's elements as parameters: Spark copies a plan through it. */
  public TopicExec(MicroBatchScanExec scan) {
    this.scan = scan;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    String query = sparkContext().getLocalProperty(TopicIds.PLANNED);
    if (query != null) TopicIds.check(query);
    KafkaBatchInputPartition[] stretches =
        CollectionConverters.asJava(scan.inputPartitions())
            .toArray(KafkaBatchInputPartition[]::new);
    boolean ours =
        Arrays.stream(stretches)
            .allMatch(stretch -> stretch.failOnDataLoss() && !stretch.includeHeaders());
    if (!ours) return scan.execute();
    stretches =
        Arrays.stream(stretches)
            .map(stretch -> Gaps.after(stretch, sparkContext()))
            .toArray(KafkaBatchInputPartition[]::new);
    return new Records(sparkContext(), stretches, scan.metrics().apply("numOutputRows"));
  }

  private record Stretch(int index, KafkaBatchInputPartition input) implements Partition {}

  private static final class Records extends RDD<InternalRow> {
    private final transient KafkaBatchInputPartition[] stretches;
    private final SQLMetric count;

    Records(SparkContext context, KafkaBatchInputPartition[] stretches, SQLMetric count) {
      super(
          context,
          CollectionConverters.asScala(List.<Dependency<?>>of()).toSeq(),
          ClassTag$.MODULE$.apply(InternalRow.class));
      this.stretches = stretches;
      this.count = count;
    }

    @Override
    public Partition[] getPartitions() {
      return IntStream.range(0, stretches.length)
          .mapToObj(i -> new Stretch(i, stretches[i]))
          .toArray(Partition[]::new);
    }

    @Override
    public Seq<String> getPreferredLocations(Partition partition) {
      return CollectionConverters.asScala(List.of(((Stretch) partition).input.preferredLocations()))
          .toSeq();
    }

    @Override
    public Iterator<InternalRow> compute(Partition partition, TaskContext context) {
      TopicReader reader = new TopicReader(((Stretch) partition).input, context);
      context.addTaskCompletionListener(
          (TaskCompletionListener)
              task -> {
                count.add(reader.count());
                task.taskMetrics().inputMetrics().incRecordsRead(reader.count());
                reader.close();
              });
      return reader;
    }
  }

  @Override
  public Seq<Attribute> output() {
    return scan.output();
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.<SparkPlan>of(scan)).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return children.head() instanceof TopicExec already
        ? already
        : new TopicExec((MicroBatchScanExec) children.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return scan;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof TopicExec;
  }

  /** Equal if the scans are: then Spark reads and shuffles once what two places of a plan share. */
  @Override
  public boolean equals(Object other) {
    return other instanceof TopicExec that && scan.equals(that.scan);
  }

  @Override
  public int hashCode() {
    return scan.hashCode();
  }
}
