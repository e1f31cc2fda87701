package headrace.kernel.sink.spark;

import headrace.kernel.sink.Destinations;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The format to write with; its options are {@code sink}, the name of a registered {@link
 * Destinations}, and the checkpoint's place.
 */
public final class SinkProvider implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new SinkTable();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
