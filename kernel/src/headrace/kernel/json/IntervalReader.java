package headrace.kernel.json;

import headrace.kernel.json.token.Cursor;
import headrace.kernel.json.token.Text;
import org.apache.spark.sql.catalyst.util.IntervalUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;

/** Day-time and year-month intervals, as the text Spark casts to them. */
final class IntervalReader extends BitsReader {
  private final DataType type;

  IntervalReader(DataType type) {
    this.type = type;
  }

  @Override
  long bits(Cursor c, int first) {
    int start = c.pos;
    if (first == '"') {
      Text.scan(c);
      UTF8String text = Text.string(c);
      try {
        return type instanceof DayTimeIntervalType dt
            ? IntervalUtils.castStringToDTInterval(text, dt.startField(), dt.endField())
            : IntervalUtils.castStringToYMInterval(text, ym().startField(), ym().endField());
      } catch (RuntimeException notAnInterval) {
        throw c.mismatch(start, type.simpleString(), "");
      }
    }
    throw c.mismatch(start, type.simpleString(), "");
  }

  private YearMonthIntervalType ym() {
    return (YearMonthIntervalType) type;
  }

  @Override
  Object box(long bits) {
    return type instanceof DayTimeIntervalType ? (Object) bits : (Object) (int) bits;
  }
}
