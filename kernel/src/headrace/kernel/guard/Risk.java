package headrace.kernel.guard;

import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;
import scala.jdk.javaapi.CollectionConverters;

/** Which expressions can fail on a row: all except those known to be safe. */
final class Risk {
  /** Whatever their arguments are, these return a value or null. */
  private static final Set<Class<?>> NONE =
      Set.of(
          Alias.class,
          AttributeReference.class,
          Literal.class,
          NamedLambdaVariable.class,
          CurrentTimestamp.class,
          CurrentDate.class,
          And.class,
          Or.class,
          Not.class,
          IsNull.class,
          IsNotNull.class,
          IsNaN.class,
          If.class,
          CaseWhen.class,
          Coalesce.class,
          NaNvl.class,
          AtLeastNNonNulls.class,
          EqualTo.class,
          EqualNullSafe.class,
          LessThan.class,
          LessThanOrEqual.class,
          GreaterThan.class,
          GreaterThanOrEqual.class,
          In.class,
          InSet.class,
          Greatest.class,
          Least.class,
          GetStructField.class,
          GetArrayStructFields.class,
          CreateNamedStruct.class,
          CreateArray.class,
          Size.class,
          ArrayContains.class,
          StartsWith.class,
          EndsWith.class,
          Contains.class,
          Upper.class,
          Lower.class,
          Length.class,
          OctetLength.class,
          ConcatWs.class,
          Substring.class,
          StringTrim.class,
          StringTrimLeft.class,
          StringTrimRight.class,
          StringReplace.class,
          StringInstr.class,
          InitCap.class,
          Md5.class,
          Sha1.class,
          Crc32.class,
          Murmur3Hash.class,
          XxHash64.class,
          Year.class,
          Quarter.class,
          Month.class,
          DayOfMonth.class,
          DayOfYear.class,
          DayOfWeek.class,
          WeekOfYear.class,
          Hour.class,
          Minute.class,
          Second.class,
          UnixMicros.class,
          UnixMillis.class,
          UnixSeconds.class,
          UnixDate.class,
          DateDiff.class,
          Floor.class,
          Ceil.class,
          Sqrt.class,
          Exp.class,
          Log.class,
          Log10.class,
          Pow.class,
          Signum.class);

  private Risk() {}

  static boolean of(Expression expression) {
    if (expression instanceof TryEval) return false;
    if (expression instanceof RuntimeReplaceable other) return of(other.replacement());
    if (!alone(expression)) return true;
    List<Expression> children = CollectionConverters.asJava(expression.children());
    return children.stream().anyMatch(Risk::of);
  }

  /** Whether it can't fail if its arguments don't. */
  private static boolean alone(Expression expression) {
    if (NONE.contains(expression.getClass())) return true;
    if (expression instanceof Concat) return expression.dataType() instanceof StringType;
    if (expression instanceof Add
        || expression instanceof Subtract
        || expression instanceof Multiply
        || expression instanceof UnaryMinus) {
      return isReal(expression.dataType());
    }
    if (!(expression instanceof Cast cast)) return false;
    return cast.evalMode().equals(EvalMode$.MODULE$.TRY())
        || Cast.canUpCast(cast.child().dataType(), cast.dataType());
  }

  private static boolean isReal(DataType type) {
    return type instanceof DoubleType || type instanceof FloatType;
  }
}
