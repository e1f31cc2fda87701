package headrace.kernel.sink.python;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.BufferedBatch;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.Options;
import headrace.kernel.sink.Point;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import headrace.kernel.sink.SinkException;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.util.ArrowUtils;

/**
 * The destination of a user's own writer, which gets a batch when all its tasks are done: its rows,
 * then its mark.
 *
 * <pre>
 * commit(batch)   rows of the successful tasks -> a file in Arrow's stream format
 *                 write(file); commit(mark)
 *                 any failure -> abort(); the next run reads the mark with begin()
 * </pre>
 *
 * <p>A writer that stores no mark gets each batch that Spark has not noted as done, and nothing is
 * compared.
 */
public final class PythonDestination implements Destination {
  private final Context context;
  private final UserWriter writer;
  private final boolean marked, changes;
  private final Shape shape;
  private boolean begun = false;

  public PythonDestination(Context context, Options options) {
    this.context = context;
    this.writer = options.object("writer", UserWriter.class);
    this.marked = options.flag("marked");
    this.changes = options.flag("changes");
    this.shape = context.shape();
  }

  @Override
  public String name() {
    int slash = context.mark().lastIndexOf('/');
    return "the sink " + context.mark().substring(slash + 1);
  }

  @Override
  public String id() {
    return context.mark();
  }

  @Override
  public String place() {
    return name();
  }

  @Override
  public Mark begin() {
    String text = opened();
    if (!marked || text.isEmpty()) return null;
    try {
      return Mark.parse(text);
    } catch (RuntimeException e) {
      throw failed("lasting begin() returned a mark that was never stored there: " + text);
    }
  }

  /** What the writer's begin() returns, as text. */
  private String opened() {
    for (StructField field : shape.type().fields()) {
      if (ArrowUtils.isSupportedByArrow(field.dataType())) continue;
      throw new RefusedException(
          "the column "
              + field.name()
              + " is a "
              + field.dataType().simpleString()
              + ": cast it to a string");
    }
    begun = true;
    String answer = writer.begin();
    if (answer == null || !answer.startsWith("mark")) throw failed(answer);
    return answer.substring("mark".length()).strip();
  }

  @Override
  public BatchWrite open(Batch batch) {
    return new BufferedBatch(
        new BufferedBatch.Writers(context.sink(), context.index(), false, false, shape)) {
      @Override
      public boolean commit(List<Serializable> results, Mark mark) {
        if (mark.rows() == 0) return false;
        try (RowFile rows = new RowFile(shape, changes)) {
          this.<IOException>forEach(
              results,
              shape.fields(),
              (key, value, deleted, row) -> rows.add((UnsafeRow) row, deleted));
          rows.finish();
          hand(rows, mark);
          Point.ANSWERED.reached(batch.number());
          return marked;
        } catch (IOException e) {
          throw SinkException.of("the rows for " + name() + " can't be kept: " + e.getMessage(), e);
        } finally {
          drop();
        }
      }
    };
  }

  private void hand(RowFile rows, Mark mark) {
    String answer = writer.write(rows.path.toString());
    if (answer == null) answer = writer.commit(mark.text());
    if (answer == null) return;
    // The first failure is the cause.
    writer.abort();
    throw failed(answer);
  }

  @Override
  public void forget() {
    if (!marked) return;
    // It needs what begin() opens, and not the mark, whatever it is.
    if (!begun) opened();
    check(writer.forget());
  }

  @Override
  public void empty() {
    if (!begun) opened();
    check(writer.clear());
  }

  private void check(String answer) {
    if (answer != null) throw failed(answer);
  }

  private RuntimeException failed(String answer) {
    String text = "HEADRACE_WRITER " + context.mark() + " " + answer;
    return answer != null && answer.startsWith("transient")
        ? new SinkException(text)
        : new RefusedException(text);
  }

  @Override
  public void close() {
    if (begun) writer.close();
    begun = false;
  }
}
