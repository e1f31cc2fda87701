package headrace.kernel.sink;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of a table: their columns and those of the key, in the key's order. Without a key rows
 * are only added.
 */
public record Shape(StructType type, List<String> key) implements Serializable {
  public static Shape of(String schema, List<String> key) {
    return new Shape((StructType) DataType.fromJson(schema), List.copyOf(key));
  }

  public int fields() {
    return type.length();
  }

  public List<String> names() {
    return Arrays.asList(type.fieldNames());
  }

  public DataType of(int column) {
    return type.fields()[column].dataType();
  }

  public boolean keyed() {
    return !key.isEmpty();
  }

  /** The columns that are not the key's. */
  public List<String> rest() {
    return names().stream().filter(name -> !key.contains(name)).toList();
  }

  /** The places of the key's columns. */
  public int[] places() {
    return key.stream().mapToInt(names()::indexOf).toArray();
  }

  public static void checkKey(InternalRow row, int[] places, StructType type, String destination) {
    for (int place : places) {
      if (!row.isNullAt(place)) continue;
      String name = type.fieldNames()[place];
      throw new RefusedException(
          "a row for "
              + destination
              + " has no "
              + name
              + ", and a key can't be null: leave such rows out with where(\""
              + name
              + " is not null\")");
    }
  }

  public static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  public static String list(List<String> names) {
    return names.stream().map(Shape::quoted).collect(Collectors.joining(", "));
  }
}
