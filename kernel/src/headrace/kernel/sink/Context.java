package headrace.kernel.sink;

import java.util.List;

/**
 * What every destination of a query needs to know.
 *
 * @param sink the name under which the query's destinations are registered
 * @param index its place among them
 * @param mark the name of its mark there: one for each query of an application and place it writes
 *     to
 * @param schema of the rows, in Spark's JSON
 * @param key the columns by which rows replace each other; empty for rows that are only added
 */
public record Context(String sink, int index, String mark, String schema, List<String> key) {
  public Shape shape() {
    return Shape.of(schema, key);
  }
}
