package headrace.kernel.table.aggregate;

import java.util.ArrayList;
import java.util.TreeMap;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A MapState that is in the order of its keys, as RocksDB's is where all keys have the same length.
 */
final class SortedMapState implements MapState<String, byte[]> {
  private final TreeMap<String, byte[]> values = new TreeMap<>();
  int scans = 0;

  int size() {
    return values.size();
  }

  @Override
  public boolean exists() {
    return !values.isEmpty();
  }

  @Override
  public byte[] getValue(String key) {
    return values.get(key);
  }

  @Override
  public boolean containsKey(String key) {
    return values.containsKey(key);
  }

  @Override
  public void updateValue(String key, byte[] value) {
    values.put(key, value.clone());
  }

  @Override
  public Iterator<Tuple2<String, byte[]>> iterator() {
    scans++;
    var rows = new ArrayList<Tuple2<String, byte[]>>();
    values.forEach((key, value) -> rows.add(new Tuple2<>(key, value)));
    return CollectionConverters.asScala(rows.iterator());
  }

  @Override
  public Iterator<String> keys() {
    return CollectionConverters.asScala(values.keySet().iterator());
  }

  @Override
  public Iterator<byte[]> values() {
    return CollectionConverters.asScala(values.values().iterator());
  }

  @Override
  public void removeKey(String key) {
    values.remove(key);
  }

  @Override
  public void clear() {
    values.clear();
  }
}
