package headrace.kernel.log;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * {@code format("headrace-memory")}: a topic of a {@link MemoryLog} as a stream; options {@code
 * log} and {@code topic}.
 */
public final class MemoryLogSource implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "headrace-memory";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return MemoryLogTable.SCHEMA;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new MemoryLogTable();
  }
}
