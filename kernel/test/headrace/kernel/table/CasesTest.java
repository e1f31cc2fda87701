package headrace.kernel.table;

import static headrace.kernel.table.TableJoin.Side.CHANGES;
import static org.junit.jupiter.api.Assertions.assertEquals;

import headrace.kernel.block.Change;
import headrace.kernel.block.Struct;
import headrace.kernel.table.TableJoin.By;
import headrace.kernel.table.aggregate.Call;
import headrace.kernel.table.aggregate.Call.Kind;
import headrace.kernel.table.aggregate.Calls;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** What was wrong once, as small as it gets. */
class CasesTest {
  private static byte[] packed(int x) {
    return Rows.of(Rows.of("1"), Rows.of("1", x)).bytes();
  }

  private static Change left(byte[] before, long beforeTime, byte[] after, long time) {
    return new Change((byte) 0, time, beforeTime, time, time, before, after);
  }

  private static Change right(byte[] before, long beforeTime, byte[] after, long time) {
    return new Change((byte) 1, time, beforeTime, time, time, before, after);
  }

  /** As Spark does it: a batch's rows come first, with the batch's watermark, then its timers. */
  @Test
  void anEventThatWaitsSeesItsVersionThoughTheWatermarkLeapt() {
    Driven driven = Driven.inEventTime(new AsOf(true, 10_000, true, false));
    driven.feed(
        "k",
        Driven.upsert(1, 1_000, 0, 0, "a"),
        Driven.upsert(1, 50_000, 1, 1, "b"),
        Driven.upsert(0, 5_000, 0, 0, "e"));
    driven.batch(1000);
    assertEquals(
        List.of("e@0 > a@5000 v0"),
        Driven.texts(driven.feed("k", Driven.upsert(1, 2_000_000, 2, 2, "c"))));
  }

  /** By the key, null matches null; inner does not. */
  @Test
  void nullMatchesNothingByKeyEither() {
    Driven join = Driven.of(new TableJoin(true, false, By.KEY, CHANGES, CHANGES, StepSize.BATCH));
    var out =
        join.feed(Driven.key(null), left(null, 0, packed(1), 1), right(null, 0, packed(2), 2));
    assertEquals(true, new Struct(2, 2).at(out.get(0).after()).isNullAt(1), "without a partner");
  }

  private static Object one(Kind kind, DataType type, DataType result, Object... values) {
    Calls calls =
        new Calls(new Call[] {new Call(kind, 0, new DataType[] {type}, -1, 0, false, result)}, 1);
    Change[] changes =
        Arrays.stream(values)
            .map(
                value ->
                    new Change(
                        (byte) 0, 1, 0, 0, 0, null, Rows.of(new DataType[] {type}, value).bytes()))
            .toArray(Change[]::new);
    byte[] row =
        Driven.of(new TableAggregate(calls, true, StepSize.BATCH))
            .feed("k", changes)
            .get(0)
            .after();
    return Rows.values(Arrays.copyOfRange(row, 5 + Driven.key("k").length, row.length), result)
        .get(0);
  }

  @Test
  void aSumThatIsZeroFits() {
    DataType type = DataTypes.createDecimalType(38, 38);
    assertEquals(
        0,
        ((BigDecimal) one(Kind.SUM, type, type, new BigDecimal("0.1"), new BigDecimal("-0.1")))
            .signum());
  }

  @Test
  void distinctKnowsOneZero() {
    assertEquals(1L, one(Kind.COUNT_DISTINCT, DataTypes.FloatType, DataTypes.LongType, 0f, -0f));
  }

  /** Spark: sort_array(collect_set(x)) has one zero. */
  @Test
  void aSetKnowsOneZero() {
    DataType array = DataTypes.createArrayType(DataTypes.DoubleType);
    assertEquals(1, ((List<?>) one(Kind.SET, DataTypes.DoubleType, array, 0.0, -0.0)).size());
  }
}
