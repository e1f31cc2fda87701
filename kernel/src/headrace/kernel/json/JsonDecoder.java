package headrace.kernel.json;

import headrace.kernel.BadRecordException;
import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Refused;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A record's value, JSON in UTF-8, straight to Spark's row: the schema's fields and, last, why the
 * record is bad.
 */
public final class JsonDecoder implements Serializable {
  public static final String BAD = "_bad";

  private final StructType schema;
  private final boolean failOnBad;
  private final transient StructReader root;
  private final transient Reader[] slots;
  private final transient int[] required;
  private transient Cursor cursor;

  private JsonDecoder(StructType schema, boolean failOnBad) {
    this.schema = schema;
    this.failOnBad = failOnBad;
    this.root = Schemas.struct(schema, "");
    this.slots = root.readersAnd(new TextReader());
    this.required =
        IntStream.range(0, schema.size()).filter(i -> !schema.apply(i).nullable()).toArray();
  }

  /** Refuses, with an IllegalArgumentException that names the field, a schema JSON can't fill. */
  public static JsonDecoder of(StructType schema, boolean failOnBad) {
    if (schema.getFieldIndex(BAD).isDefined())
      throw new IllegalArgumentException("field " + BAD + ": the name is taken by the decoder");
    return new JsonDecoder(schema, failOnBad);
  }

  /**
   * The decoder as a column. Marked non-deterministic, so that the optimizer never copies it into a
   * filter pushed down or a projection merged: select it once under a name, and use its fields by
   * that name.
   */
  public static Column column(
      Column value,
      Column topic,
      Column partition,
      Column offset,
      String schemaJson,
      boolean failOnBad) {
    JsonDecoder decoder = of((StructType) DataType.fromJson(schemaJson), failOnBad);
    Column[] columns = {
      value,
      topic.cast(DataTypes.StringType),
      functions.coalesce(partition.cast(DataTypes.IntegerType), functions.lit(-1)),
      functions.coalesce(offset.cast(DataTypes.LongType), functions.lit(-1L))
    };
    List<Expression> arguments = Arrays.stream(columns).map(ExpressionUtils::expression).toList();
    Literal target = new Literal(decoder, new ObjectType(JsonDecoder.class));
    return ExpressionUtils.column(
        new Invoke(
            target,
            "decode",
            decoder.type(),
            CollectionConverters.asScala(arguments).toSeq(),
            CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
            false,
            false,
            false));
  }

  /** The struct that comes out: every field may be null, as all are in a bad record. */
  public StructType type() {
    StructType plain = CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema);
    return plain.asNullable().add(BAD, DataTypes.StringType, true);
  }

  public InternalRow decode(byte[] value, UTF8String topic, int partition, long offset) {
    DecodedRow row = new DecodedRow(slots);
    String cause;
    try {
      cause = fill(value, row);
    } catch (Refused e) {
      cause = e.cause();
    }
    if (cause == null) return row;
    if (failOnBad) throw new BadRecordException(String.valueOf(topic), partition, offset, cause);
    DecodedRow bad = new DecodedRow(slots);
    bad.put(slots.length - 1, UTF8String.fromString(cause));
    return bad;
  }

  private String fill(byte[] value, DecodedRow row) {
    if (value == null) return "no value (tombstone)";
    Cursor c = cursor;
    if (c == null || c.owner != Thread.currentThread()) c = cursor = new Cursor();
    c.reset(value);
    int first = c.next();
    if (first != '{') return notAnObject(c, first);
    root.fill(c, row);
    if (c.next() >= 0) throw c.unexpected("nothing after the object", "the document");
    for (int field : required) {
      if (row.isNullAt(field))
        return "field " + schema.apply(field).name() + ": missing or null, but required";
    }
    return null;
  }

  private static String notAnObject(Cursor c, int first) {
    if (first < 0) return "empty value";
    c.skip(first);
    return "expected an object, found " + Cursor.kind(first);
  }

  private Object readResolve() {
    return new JsonDecoder(schema, failOnBad);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JsonDecoder that
        && failOnBad == that.failOnBad
        && schema.equals(that.schema);
  }

  @Override
  public int hashCode() {
    return schema.hashCode();
  }

  @Override
  public String toString() {
    return "json" + schema.simpleString();
  }
}
