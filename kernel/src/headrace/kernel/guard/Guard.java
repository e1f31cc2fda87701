package headrace.kernel.guard;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ConditionalExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An expression that does not fail.
 *
 * <pre>
 * try: the child's value
 * catch: the {@link Failure} notes the cause; null
 * </pre>
 *
 * <p>In generated code this is a try around the child's code, which costs nothing while nothing is
 * thrown. It is a conditional expression, so that Spark computes no part of the child ahead,
 * outside of the try. It is non-deterministic, so that it is computed in place, before the failure
 * is checked.
 */
public final class Guard extends Expression implements ConditionalExpression, Serializable {
  private final Expression child;
  private final Failure failure;

  public Guard(Expression child, Failure failure) {
    this.child = child;
    this.failure = failure;
  }

  @Override
  public Object eval(InternalRow row) {
    try {
      return child.eval(row);
    } catch (Throwable thrown) {
      failure.note(thrown);
      return null;
    }
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    ExprCode inner = child.genCode(context);
    String noted = context.addReferenceObj("failure", failure, Failure.class.getName());
    String thrown = context.freshName("thrown");
    String type = CodeGenerator.javaType(dataType());
    List<String> parts =
        List.of(
            "boolean ",
            " = true; " + type + " ",
            " = " + CodeGenerator.defaultValue(dataType(), false) + "; try {\n",
            "\n",
            " = ",
            "; ",
            " = ",
            "; } catch (Throwable " + thrown + ") { " + noted + ".note(" + thrown + "); }\n");
    List<JavaCode> between =
        List.of(
            code.isNull(),
            code.value(),
            inner.code(),
            code.value(),
            inner.value(),
            code.isNull(),
            inner.isNull());
    return code.copy(
        new CodeBlock(
            CollectionConverters.asScala(parts).toSeq(),
            CollectionConverters.asScala(between).toSeq()),
        code.isNull(),
        code.value());
  }

  @Override
  public DataType dataType() {
    return child.dataType();
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public boolean deterministic() {
    return false;
  }

  @Override
  public boolean foldable() {
    return false;
  }

  @Override
  public Seq<Expression> alwaysEvaluatedInputs() {
    return CollectionConverters.asScala(List.<Expression>of()).toSeq();
  }

  @Override
  public ConditionalExpression withNewAlwaysEvaluatedInputs(Seq<Expression> inputs) {
    return this;
  }

  @Override
  public Seq<Seq<Expression>> branchGroups() {
    return CollectionConverters.asScala(List.<Seq<Expression>>of()).toSeq();
  }

  @Override
  public Seq<Expression> children() {
    return CollectionConverters.asScala(List.of(child)).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Guard(children.head(), failure);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? child : failure;
  }

  @Override
  public boolean canEqual(Object other) {
    return other == this;
  }
}
