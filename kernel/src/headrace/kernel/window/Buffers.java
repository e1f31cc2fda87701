package headrace.kernel.window;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The buffers of Spark's aggregate functions: a buffer is one row, with some columns for each
 * function.
 *
 * <p>Follows Spark's AggregationIterator. A declarative function consists of expressions over the
 * buffer's columns, which become generated code; an imperative one updates the buffer itself, and a
 * typed one has an object in its only column.
 */
final class Buffers {
  /**
   * An imperative function, its place among all, and where the condition of its FILTER is, -1 for
   * none.
   */
  private record Imperative(ImperativeAggregate function, int index, int filter) {
    boolean takes(InternalRow arguments) {
      return filter < 0 || (!arguments.isNullAt(filter) && arguments.getBoolean(filter));
    }
  }

  private final List<Imperative> imperatives = new ArrayList<>();
  private final DataType[] types;
  private final Seq<DataType> columns;

  /** The typed function that has an object in this column, or null. */
  private final TypedImperativeAggregate<Object>[] objects;

  private final MutableProjection initial;
  private final MutableProjection update;
  private final MutableProjection merge;
  private final MutableProjection evaluate;
  private final UnsafeProjection packed;
  private final JoinedRow joined = new JoinedRow();
  private final InternalRow results;

  Buffers(Functions functions) {
    AggregateFunction[] all = placed(functions);
    List<Attribute> buffer = attributes(all, AggregateFunction::aggBufferAttributes);
    types = buffer.stream().map(Attribute::dataType).toArray(DataType[]::new);
    columns = scala(Arrays.asList(types));
    objects = objects();
    List<Attribute> other = new ArrayList<>(buffer);
    other.addAll(attributes(all, AggregateFunction::inputAggBufferAttributes));
    List<Attribute> row = new ArrayList<>();
    for (DataType type : functions.arguments()) row.add(unnamed(type));
    row.addAll(buffer);

    List<Expression> first = new ArrayList<>();
    List<Expression> updates = new ArrayList<>();
    List<Expression> merges = new ArrayList<>();
    List<Expression> ends = new ArrayList<>();
    for (int i = 0; i < all.length; i++) {
      if (all[i] instanceof DeclarativeAggregate function) {
        first.addAll(CollectionConverters.asJava(function.initialValues()));
        updates.addAll(filtered(function, functions.filters()[i]));
        merges.addAll(CollectionConverters.asJava(function.mergeExpressions()));
        ends.add(function.evaluateExpression());
      } else {
        for (int columns = all[i].aggBufferAttributes().size(); columns > 0; columns--) {
          first.add(NoOp$.MODULE$);
          updates.add(NoOp$.MODULE$);
          merges.add(NoOp$.MODULE$);
        }
        ends.add(NoOp$.MODULE$);
      }
    }
    initial = MutableProjection.create(scala(first), scala(List.of()));
    update = MutableProjection.create(scala(updates), scala(row));
    merge = MutableProjection.create(scala(merges), scala(other));
    evaluate = MutableProjection.create(scala(ends), scala(buffer));
    packed = UnsafeProjection.create(types);
    results = new SpecificInternalRow(scala(Arrays.asList(functions.results())));
  }

  /** The functions, of which the imperative ones know where their columns begin. */
  private AggregateFunction[] placed(Functions functions) {
    AggregateFunction[] all = functions.functions().clone();
    int offset = 0;
    for (int i = 0; i < all.length; i++) {
      if (all[i] instanceof ImperativeAggregate function) {
        ImperativeAggregate placed =
            function.withNewMutableAggBufferOffset(offset).withNewInputAggBufferOffset(offset);
        imperatives.add(new Imperative(placed, i, functions.filters()[i]));
        all[i] = placed;
      }
      offset += all[i].aggBufferAttributes().size();
    }
    return all;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private TypedImperativeAggregate<Object>[] objects() {
    TypedImperativeAggregate<Object>[] objects = new TypedImperativeAggregate[types.length];
    for (Imperative imperative : imperatives) {
      if (imperative.function instanceof TypedImperativeAggregate typed)
        objects[typed.mutableAggBufferOffset()] = typed;
    }
    return objects;
  }

  private static List<Attribute> attributes(
      AggregateFunction[] all, Function<AggregateFunction, Seq<AttributeReference>> which) {
    List<Attribute> attributes = new ArrayList<>();
    for (AggregateFunction function : all)
      attributes.addAll(CollectionConverters.asJava(which.apply(function)));
    return attributes;
  }

  /** Arguments are bound by position. */
  private static Attribute unnamed(DataType type) {
    return new AttributeReference(
        "", type, true, Metadata.empty(), NamedExpression.newExprId(), scala(List.of()));
  }

  private static List<Expression> filtered(DeclarativeAggregate function, int filter) {
    List<Expression> updates =
        new ArrayList<>(CollectionConverters.asJava(function.updateExpressions()));
    if (filter < 0) return updates;
    Expression condition = new BoundReference(filter, DataTypes.BooleanType, true);
    for (int i = 0; i < updates.size(); i++) {
      updates.set(i, new If(condition, updates.get(i), function.aggBufferAttributes().apply(i)));
    }
    return updates;
  }

  private static <T> Seq<T> scala(List<T> values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  /** The buffer of no rows. */
  InternalRow empty() {
    InternalRow buffer = new SpecificInternalRow(columns);
    initial.target(buffer).apply(InternalRow.empty());
    for (Imperative imperative : imperatives) imperative.function.initialize(buffer);
    return buffer;
  }

  void update(InternalRow buffer, UnsafeRow arguments) {
    update.target(buffer).apply(joined.apply(arguments, buffer));
    for (Imperative imperative : imperatives) {
      if (imperative.takes(arguments)) imperative.function.update(buffer, arguments);
    }
  }

  /**
   * Merges another buffer into this one, as if its rows came after. The other must not be used
   * again.
   */
  void merge(InternalRow buffer, InternalRow other) {
    merge.target(buffer).apply(joined.apply(buffer, other));
    for (Imperative imperative : imperatives) {
      if (imperative.function instanceof TypedImperativeAggregate<?> typed)
        typed.mergeBuffersObjects(buffer, other);
      else imperative.function.merge(buffer, other);
    }
  }

  /** The row of results, which is reused. */
  InternalRow evaluate(InternalRow buffer) {
    evaluate.target(results).apply(buffer);
    for (Imperative imperative : imperatives)
      set(results, imperative.index, imperative.function.eval(buffer));
    return results;
  }

  byte[] write(InternalRow buffer) {
    Object[] values = new Object[types.length];
    for (int i = 0; i < values.length; i++) {
      Object value = buffer.isNullAt(i) ? null : buffer.get(i, types[i]);
      values[i] = objects[i] == null ? value : objects[i].serialize(value);
    }
    // A copy: the projection uses its buffer again.
    return packed.apply(new GenericInternalRow(values)).copy().getBytes();
  }

  InternalRow read(byte[] bytes) {
    UnsafeRow row = new UnsafeRow(types.length);
    row.pointTo(bytes, bytes.length);
    InternalRow buffer = new SpecificInternalRow(columns);
    for (int i = 0; i < types.length; i++) {
      Object value = row.isNullAt(i) ? null : row.get(i, types[i]);
      set(buffer, i, objects[i] == null ? value : objects[i].deserialize((byte[]) value));
    }
    return buffer;
  }

  private static void set(InternalRow row, int column, Object value) {
    if (value == null) row.setNullAt(column);
    else row.update(column, value);
  }
}
