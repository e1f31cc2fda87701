package headrace.kernel.table.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.table.Chance;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BinaryTest {
  private static double any(Random chance) {
    double value;
    do {
      double bits = Double.longBitsToDouble(chance.nextLong());
      value =
          Chance.one(
              chance, bits, chance.nextGaussian(), (double) chance.nextInt(100), Double.MIN_VALUE);
    } while (!Double.isFinite(value));
    return value;
  }

  @Test
  void itCountsAsDecimalNumbersDo() {
    Chance.times(
        2000,
        chance -> {
          double one = any(chance);
          double other = any(chance);
          Binary sum = Binary.of(one).plus(Binary.of(other));
          Binary product = Binary.of(one).times(Binary.of(other));
          assertEquals(0, new BigDecimal(one).add(new BigDecimal(other)).compareTo(sum.decimal()));
          assertEquals(
              0,
              new BigDecimal(one)
                  .subtract(new BigDecimal(other))
                  .compareTo(Binary.of(one).minus(Binary.of(other)).decimal()));
          assertEquals(
              0, new BigDecimal(one).multiply(new BigDecimal(other)).compareTo(product.decimal()));
          assertEquals(sum.decimal(), Binary.of(sum.decimal()).decimal());
          assertEquals(Binary.ZERO, sum.minus(sum));
        });
  }

  @Test
  void aQuotientIsRoundedOnce() {
    Chance.times(
        5000,
        chance -> {
          Binary sum = Binary.of(any(chance)).plus(Binary.of(any(chance)));
          long divisor = 1 + (chance.nextLong() >>> (1 + chance.nextInt(62)));
          BigDecimal decimal = sum.decimal();
          double expected =
              decimal
                  .divide(BigDecimal.valueOf(divisor), new MathContext(decimal.precision() + 60))
                  .doubleValue();
          assertEquals(expected == 0 ? 0.0 : expected, sum.over(divisor) + 0.0);
        });
  }
}
