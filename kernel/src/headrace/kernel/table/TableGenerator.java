package headrace.kernel.table;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import scala.Enumeration;
import scala.collection.IterableOnce;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What a generator of rows needs to be one of Spark's. */
abstract class TableGenerator extends Expression implements Generator, CodegenFallback, Serializable {
  private final Seq<Expression> children;
  private Seq<Enumeration.Value> patterns;

  TableGenerator(Seq<Expression> children) {
    this.children = children;
    Generator.$init$(this);
  }

  static Seq<Expression> expressions(Column... columns) {
    return CollectionConverters.asScala(Arrays.stream(columns).map(ExpressionUtils::expression).toList()).toSeq();
  }

  static IterableOnce<InternalRow> iterator(Iterator<InternalRow> rows) {
    return CollectionConverters.asScala(rows);
  }

  static IterableOnce<InternalRow> none() {
    return iterator(List.<InternalRow>of().iterator());
  }

  protected abstract TableGenerator with(Seq<Expression> children);

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
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public void org$apache$spark$sql$catalyst$expressions$Generator$_setter_$nodePatterns_$eq(Seq<Enumeration.Value> patterns) {
    this.patterns = patterns;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return patterns;
  }
}
