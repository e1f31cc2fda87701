package headrace.kernel.table;

import java.util.Random;
import java.util.function.Consumer;

/** Random tests: the same ones every time, and what fails says which one it was. */
public final class Chance {
  private Chance() {}

  public static void times(int count, Consumer<Random> test) {
    for (int seed = 0; seed < count; seed++) {
      try {
        test.accept(new Random(seed));
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("with the seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  @SafeVarargs
  public static <T> T one(Random chance, T... values) {
    return values[chance.nextInt(values.length)];
  }
}
