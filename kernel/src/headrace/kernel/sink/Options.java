package headrace.kernel.sink;

import java.util.List;
import java.util.Map;

/** A sink's options for its destination, including passwords: never to be shown. */
public final class Options {
  private final Map<String, Object> values;

  public Options(Map<String, Object> values) {
    this.values = values;
  }

  /** Null if it is absent. */
  public String text(String name) {
    return (String) get(name, String.class);
  }

  public int number(String name) {
    return ((Number) get(name, Number.class)).intValue();
  }

  public boolean flag(String name) {
    return (Boolean) get(name, Boolean.class);
  }

  /** Of names and texts. */
  @SuppressWarnings("unchecked")
  public Map<String, String> texts(String name) {
    return (Map<String, String>) get(name, Map.class);
  }

  @SuppressWarnings("unchecked")
  public Map<String, Integer> numbers(String name) {
    return (Map<String, Integer>) get(name, Map.class);
  }

  @SuppressWarnings("unchecked")
  public List<List<String>> lists(String name) {
    return ((List<List<String>>) get(name, List.class)).stream().map(List::copyOf).toList();
  }

  /** Of a class of ours, or null. */
  public <T> T object(String name, Class<T> type) {
    return type.cast(get(name, type));
  }

  private Object get(String name, Class<?> type) {
    Object found = values.get(name);
    // The value itself may be a password.
    if (found != null && !type.isInstance(found))
      throw new IllegalArgumentException(
          "the option " + name + " is a " + found.getClass().getName());
    if (!values.containsKey(name))
      throw new IllegalArgumentException("the option " + name + " is missing");
    return found;
  }

  @Override
  public String toString() {
    return values.keySet().toString();
  }
}
