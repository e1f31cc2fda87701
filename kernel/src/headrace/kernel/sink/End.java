package headrace.kernel.sink;

/** One of the places a query writes to: topics, a database. Lives on the driver, for one run of the query. */
public interface End extends AutoCloseable {
  /** As errors name it. */
  String name();

  /** Sees to it that no earlier run can write any more, then says what was written last; null for nothing. Asked once. */
  Mark begin();

  /** Begins a batch that the end does not have. */
  Writing open(Batch batch);

  /** Lets go of the mark: the next batch is written, whichever it is. */
  void forget();

  @Override
  void close();
}
