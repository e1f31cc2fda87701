package headrace.kernel.table.aggregate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import headrace.kernel.table.Chance;
import headrace.kernel.table.Rows;
import headrace.kernel.table.aggregate.Call.Kind;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class MomentsTest {
  private static final DataType[] TYPE = {DataTypes.DoubleType};

  private static Moments moments(Kind kind) {
    return new Moments(new Call(kind, 0, TYPE, -1, 0, false, DataTypes.DoubleType));
  }

  private static void count(Accumulator moments, int by, Double... values) {
    for (Double value : values) moments.change(Rows.of(TYPE, value).row(), by, 0);
  }

  @Test
  void withoutValuesOrWithOneThereIsNoVarianceOfASample() {
    for (Kind kind : List.of(Kind.VAR_POP, Kind.STDDEV_POP, Kind.VAR_SAMP, Kind.STDDEV_SAMP)) {
      boolean sample = kind == Kind.VAR_SAMP || kind == Kind.STDDEV_SAMP;
      Moments moments = moments(kind);
      assertNull(moments.result());
      count(moments, 1, (Double) null);
      assertNull(moments.result());
      count(moments, 1, 7.5);
      assertEquals(sample ? null : (Object) 0.0, moments.result());
      count(moments, 1, 7.5);
      assertEquals(0.0, moments.result());
      count(moments, -1, 7.5, 7.5, null);
      assertNull(moments.result());
    }
  }

  @Test
  void whatIsNotFiniteMakesTheResultNotANumberAsLongAsItIsThere() {
    for (double odd :
        new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
      Moments moments = moments(Kind.VAR_SAMP);
      count(moments, 1, odd);
      assertNull(moments.result(), "of one value, whatever it is");
      count(moments, 1, 1.0, 3.0);
      assertEquals(Double.NaN, moments.result());
      count(moments, -1, odd);
      assertEquals(2.0, moments.result());
    }
  }

  @Test
  void largeValuesThatAreCloseToEachOtherHaveTheVarianceOfSmallOnes() {
    Moments moments = moments(Kind.VAR_POP);
    count(moments, 1, 1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15 + 4);
    assertEquals(1.25, moments.result());
    Moments small = moments(Kind.STDDEV_POP);
    count(small, 1, Double.MIN_VALUE, 3 * Double.MIN_VALUE);
    assertEquals(0.0, small.result(), "its square is less than the least double");
    Moments large = moments(Kind.VAR_POP);
    count(large, 1, Double.MAX_VALUE, -Double.MAX_VALUE);
    assertEquals(Double.POSITIVE_INFINITY, large.result());
  }

  @Test
  void whatIsTakenBackLeavesNothingBehind() {
    byte[] nothing = Written.of(moments(Kind.VAR_SAMP));
    Chance.times(
        50,
        chance -> {
          Moments moments = moments(Kind.VAR_SAMP);
          List<Double> values = new ArrayList<>();
          for (int i = 0; i < 100; i++) {
            values.add(
                Chance.one(
                    chance,
                    0.1,
                    1e300,
                    -1e-300,
                    5.0,
                    33_554_432.0,
                    33_554_433.0,
                    1e17,
                    chance.nextGaussian(),
                    Double.NaN));
            count(moments, 1, values.get(values.size() - 1));
            if (chance.nextInt(3) == 0)
              count(moments, -1, values.remove(chance.nextInt(values.size())));
            if (chance.nextInt(5) == 0) moments = Written.again(moments, moments(Kind.VAR_SAMP));
          }
          for (Double value : values) count(moments, -1, value);
          assertNull(moments.result());
          assertArrayEquals(nothing, Written.of(moments));
        });
  }
}
