package headrace.kernel.block;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import scala.Enumeration;
import scala.collection.IterableOnce;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of a task -> other rows. In Spark's logical plan it is a generator; {@link BlockExec} runs
 * it. Only in real-time mode, which allows Spark's own operators alone and emits every row at once,
 * Spark runs it as a generator.
 */
abstract class BlockGenerator extends Expression implements Generator, Serializable {
  protected final boolean atOnce;
  private final Seq<Expression> children;
  private Seq<Enumeration.Value> patterns;

  BlockGenerator(boolean atOnce, Seq<Expression> children) {
    this.atOnce = atOnce;
    this.children = children;
    Generator.$init$(this);
  }

  static Seq<Expression> expressions(Column... columns) {
    return CollectionConverters.asScala(
            Arrays.stream(columns).map(ExpressionUtils::expression).toList())
        .toSeq();
  }

  protected abstract BlockGenerator with(Seq<Expression> children);

  /** The same for rows of these columns. */
  abstract BlockGenerator on(Seq<Attribute> input);

  /** Whether it emits UnsafeRows, so that only a change of columns needs a copy. */
  abstract boolean emitsUnsafeRows();

  /** The rows that result from a task's rows. A row is valid until the next one. */
  abstract Iterator<InternalRow> rows(Iterator<InternalRow> input);

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return with(newChildren);
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return children;
  }

  @Override
  public boolean canEqual(Object other) {
    return other == this;
  }

  @Override
  public DataType dataType() {
    return new ArrayType(elementSchema(), true);
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public IterableOnce<InternalRow> eval(InternalRow input) {
    return rows(Iterator$.MODULE$.single(input));
  }

  @Override
  public boolean supportCodegen() {
    return false;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void org$apache$spark$sql$catalyst$expressions$Generator$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    this.patterns = patterns;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return patterns;
  }
}
