package headrace.kernel;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TwsTester;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/**
 * Spark's {@link TwsTester} for Java: a processor without a query, its state in maps of this JVM.
 *
 * <p>Those maps compare {@code byte[]} by identity, RocksDB by content. So keys pass through {@link
 * ByContent}: equal arrays are one grouping key, and one key of a {@code MapState}. Arrays that
 * come out of here compare by identity again.
 *
 * <p>Only a query shows encoders, TTL, the refusal of null as a value, and the order of a {@code
 * MapState}; here it is any.
 */
public final class Tws<K, I, O> {
  private final ByContent content = new ByContent();
  private final TwsTester<K, I, O> tester;

  /** Without time: no timers, no watermark, no late rows. */
  public Tws(StatefulProcessor<K, I, O> processor) {
    this(processor, TimeMode.None(), OutputMode.Update(), null);
  }

  /**
   * In event time. Rows not after the watermark never reach the processor; with {@code row ->
   * Long.MAX_VALUE} all do.
   */
  public Tws(StatefulProcessor<K, I, O> processor, ToLongFunction<I> millis) {
    this(processor, TimeMode.EventTime(), OutputMode.Update(), millis);
  }

  /**
   * @param millis a row's event time, or null where the time mode is another
   */
  public Tws(
      StatefulProcessor<K, I, O> processor,
      TimeMode time,
      OutputMode output,
      ToLongFunction<I> millis) {
    Option<Function1<I, Object>> extractor =
        Option.apply(millis == null ? null : millis::applyAsLong);
    List<Tuple2<K, Object>> noInitialState = List.of();
    tester =
        new TwsTester<>(
            content.processor(processor), scala(noInitialState), time, output, extractor);
  }

  /** The rows of one key in one batch; returns what the processor emits. */
  @SafeVarargs
  @SuppressWarnings("varargs")
  public final List<O> feed(K key, I... rows) {
    return java(tester.test(content.same(key), scala(Arrays.asList(rows))));
  }

  /** Moves the watermark, forward from 0; returns what the timers up to it emit, earliest first. */
  public List<O> watermark(long millis) {
    return java(tester.setWatermark(millis));
  }

  /**
   * Moves the clock of {@code TimeMode.ProcessingTime()}, forward from 0; returns what the timers
   * up to it emit.
   */
  public List<O> clock(long millis) {
    return java(tester.setProcessingTime(millis));
  }

  /** What a {@code ValueState} holds for the key, or null. */
  public <T> T value(String state, K key) {
    Option<T> found = tester.peekValueState(state, content.same(key));
    return found.isEmpty() ? null : found.get();
  }

  /** What a {@code ListState} holds for the key. */
  public <T> List<T> list(String state, K key) {
    return java(tester.peekListState(state, content.same(key)));
  }

  /** What a {@code MapState} holds for the key. */
  public <T, V> Map<T, V> map(String state, K key) {
    return CollectionConverters.asJava(tester.<T, V>peekMapState(state, content.same(key)));
  }

  /**
   * Makes a {@code ValueState} hold something for the key, as if an earlier batch had stored it.
   */
  public <T> void keep(String state, K key, T value) {
    tester.updateValueState(state, content.same(key), value);
  }

  /** Makes a {@code ListState} hold exactly this for the key. */
  public <T> void keepList(String state, K key, Class<T> type, List<T> values) {
    tester.updateListState(state, content.same(key), scala(values), ClassTag.apply(type));
  }

  /** Makes a {@code MapState} hold exactly this for the key. */
  public <T, V> void keepMap(String state, K key, Map<T, V> values) {
    tester.updateMapState(
        state,
        content.same(key),
        scala.collection.immutable.Map.from(CollectionConverters.asScala(values)));
  }

  public static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static List<String> texts(List<byte[]> rows) {
    return rows.stream()
        .map(row -> row == null ? null : new String(row, StandardCharsets.UTF_8))
        .toList();
  }

  private static <T> scala.collection.immutable.List<T> scala(List<T> rows) {
    return CollectionConverters.asScala(rows).toList();
  }

  private static <T> List<T> java(scala.collection.immutable.List<T> rows) {
    return CollectionConverters.asJava(rows);
  }
}
