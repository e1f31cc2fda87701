package headrace.kernel;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.Iterator;

/**
 * Makes one object of all equal {@code byte[]} keys, so that maps which compare by identity find
 * them.
 */
final class ByContent {
  private final Map<ByteBuffer, byte[]> known = new HashMap<>();

  /** The key itself, or the array seen before with the same content. */
  @SuppressWarnings("unchecked")
  <K> K same(K key) {
    // A copy: the caller may write to its array again.
    return key instanceof byte[] bytes
        ? (K) known.computeIfAbsent(ByteBuffer.wrap(bytes.clone()), ByteBuffer::array)
        : key;
  }

  /** The processor, with map states that find their keys by content. */
  <K, I, O> StatefulProcessor<K, I, O> processor(StatefulProcessor<K, I, O> inner) {
    return new StatefulProcessor<>() {
      @Override
      public void init(OutputMode output, TimeMode time) {
        inner.setHandle(wrap(StatefulProcessorHandle.class, getHandle()));
        inner.init(output, time);
      }

      @Override
      public Iterator<O> handleInputRows(K key, Iterator<I> rows, TimerValues now) {
        return inner.handleInputRows(key, rows, now);
      }

      @Override
      public Iterator<O> handleExpiredTimer(K key, TimerValues now, ExpiredTimerInfo timer) {
        return inner.handleExpiredTimer(key, now, timer);
      }
    };
  }

  /** Every method of a MapState that takes an argument takes the key first. */
  private <T> T wrap(Class<T> type, Object target) {
    boolean keyed = type == MapState.class;
    Object proxy =
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              if (keyed && arguments != null) arguments[0] = same(arguments[0]);
              try {
                Object result = method.invoke(target, arguments);
                return result instanceof MapState ? wrap(MapState.class, result) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
    return type.cast(proxy);
  }
}
