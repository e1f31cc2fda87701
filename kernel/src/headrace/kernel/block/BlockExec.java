package headrace.kernel.block;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Runs {@link Gather} or {@link Scatter} over a task's rows and projects the result, so that each
 * row is copied once.
 */
public final class BlockExec extends SparkPlan {
  private final BlockGenerator generator;
  private final Seq<Attribute> generated;
  private final Seq<NamedExpression> columns;
  private final SparkPlan child;

  /** Public, with the product's elements as parameters: Spark copies a plan through it. */
  public BlockExec(
      BlockGenerator generator,
      Seq<Attribute> generated,
      Seq<NamedExpression> columns,
      SparkPlan child) {
    this.generator = generator;
    this.generated = generated;
    this.columns = columns;
    this.child = child;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    Pass pass = new Pass(generator.on(child.output()), generated, columns);
    return child.execute().mapPartitions(pass, false, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** What a task does. */
  private static final class Pass
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private final BlockGenerator generator;
    private final Seq<Attribute> generated;
    private final Seq<Expression> columns;

    Pass(BlockGenerator generator, Seq<Attribute> generated, Seq<NamedExpression> columns) {
      this.generator = generator;
      this.generated = generated;
      this.columns = each(columns, column -> (Expression) column);
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> input) {
      Iterator<InternalRow> rows = generator.rows(input);
      if (generator.emitsUnsafeRows() && columns.equals(generated)) return rows;
      UnsafeProjection projection = UnsafeProjection.create(columns, generated);
      projection.initialize(TaskContext.getPartitionId());
      return new AbstractIterator<>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          return projection.apply(rows.next());
        }
      };
    }
  }

  @Override
  public Seq<Attribute> output() {
    return each(columns, NamedExpression::toAttribute);
  }

  @Override
  public AttributeSet producedAttributes() {
    return AttributeSet$.MODULE$.apply(
        CollectionConverters.asScala(
            new ArrayList<Expression>(CollectionConverters.asJava(generated))));
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.of(child)).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new BlockExec(generator, generated, columns, children.head());
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> generator;
      case 1 -> generated;
      case 2 -> columns;
      default -> child;
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other == this;
  }

  private static <T> Seq<T> each(Seq<NamedExpression> columns, Function<NamedExpression, T> of) {
    return CollectionConverters.asScala(
            CollectionConverters.asJava(columns).stream().map(of).toList())
        .toSeq();
  }
}
