package headrace.kernel.table;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.jdk.javaapi.CollectionConverters;

/** The bytes of a row -> the row. Of a {@link Pair}: a struct of the two. */
public record Unpack(int fields, int second) implements Serializable {
  /** A row of this type. */
  public static Column row(Column bytes, String schemaJson) {
    StructType type = (StructType) DataType.fromJson(schemaJson);
    return column(bytes, new Unpack(type.size(), -1), "one", type);
  }

  /** Two rows: the type has two fields, both structs. */
  public static Column pair(Column bytes, String schemaJson) {
    StructType type = (StructType) DataType.fromJson(schemaJson);
    StructType left = (StructType) type.apply(0).dataType();
    StructType right = (StructType) type.apply(1).dataType();
    return column(bytes, new Unpack(left.size(), right.size()), "both", type);
  }

  private static Column column(Column bytes, Unpack unpack, String method, StructType type) {
    return ExpressionUtils.column(
        new Invoke(
            new Literal(unpack, new ObjectType(Unpack.class)),
            method,
            type,
            CollectionConverters.asScala(List.<Expression>of(ExpressionUtils.expression(bytes))).toSeq(),
            CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
            true,
            true,
            false));
  }

  public InternalRow one(byte[] bytes) {
    return at(bytes, 0, bytes.length, fields);
  }

  public InternalRow both(byte[] bytes) {
    int left = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET);
    int end = 5 + Math.max(left, 0);
    InternalRow one = left < 0 ? null : at(bytes, 5, left, fields);
    InternalRow other = bytes[4] == 0 ? null : at(bytes, end, bytes.length - end, second);
    return new GenericInternalRow(new Object[] {one, other});
  }

  private static UnsafeRow at(byte[] bytes, int start, int length, int fields) {
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, length);
    return row;
  }
}
