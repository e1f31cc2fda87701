package headrace.kernel.block;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Plans {@link Gather} and {@link Scatter} as {@link BlockExec}, together with the projection after
 * them.
 */
public final class BlockPlanning extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof Project project && project.child() instanceof Generate generate) {
      return planned(generate, project.projectList(), project.references());
    }
    if (plan instanceof Generate generate) {
      List<NamedExpression> all = new ArrayList<>(CollectionConverters.asJava(generate.output()));
      return planned(generate, seq(all), generate.outputSet());
    }
    return none();
  }

  /** Empty if Spark plans it, or if columns of its input are used after it. */
  private Seq<SparkPlan> planned(
      Generate generate, Seq<NamedExpression> columns, AttributeSet used) {
    if (!(generate.generator() instanceof BlockGenerator generator) || generator.atOnce)
      return none();
    if (!used.subsetOf(generate.producedAttributes())) return none();
    return seq(
        List.of(
            new BlockExec(
                generator,
                generate.qualifiedGeneratorOutput(),
                columns,
                planLater(input(generate)))));
  }

  /** Skips a projection that Spark inserted only to drop columns: it would copy each block. */
  private static LogicalPlan input(Generate generate) {
    boolean prunes =
        generate.generator() instanceof Scatter
            && generate.child() instanceof Project project
            && project.outputSet().subsetOf(project.child().outputSet());
    return prunes ? ((Project) generate.child()).child() : generate.child();
  }

  private static Seq<SparkPlan> none() {
    return seq(List.of());
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
