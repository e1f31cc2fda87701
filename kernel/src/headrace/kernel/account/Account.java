package headrace.kernel.account;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;

/**
 * The fate of the records of one batch: each that was read is bad, taken, late or filtered.
 *
 * <pre>
 * tasks:  each verb notes the place of a row's record under its {@link Fate} ({@link Tally})
 * close:  read                 all that were read
 *         bad                  of read
 *         taken                of read, not bad
 *         late                 of read, not bad or taken
 *         filtered             of read, none of these
 * </pre>
 *
 * <p>The four are noted independently, where they happen, so that their sum proves something. Each
 * is a set of places, so a record counts once, however many branches, windows or attempts of a task
 * note it.
 */
public final class Account {
  private static final Map<String, Account> OPEN = new ConcurrentHashMap<>();

  private final Map<Fate, Records> records = new EnumMap<>(Fate.class);
  private final LongAccumulator emitted;

  private Account(SparkSession session) {
    // Without a name: Spark keeps and shows the values of those that have one.
    for (Fate fate : Fate.values()) {
      records.put(fate, new Records());
      session.sparkContext().register(records.get(fate));
    }
    emitted = session.sparkContext().longAccumulator();
  }

  /** Of a batch of a run of a query. */
  static Account of(SparkSession session, String run, long batch) {
    return OPEN.computeIfAbsent(run + " " + batch, none -> new Account(session));
  }

  /**
   * The number of records read, taken, filtered, late and bad; of bad records that an earlier batch
   * read; and of rows emitted. Called once, when the batch is done.
   */
  public static long[] close(String run, long batch) {
    Account account = OPEN.remove(run + " " + batch);
    return account == null ? new long[7] : account.sums();
  }

  private long[] sums() {
    Records read = records.get(Fate.READ);
    Records bad = records.get(Fate.BAD).in(read);
    Records taken = records.get(Fate.TAKEN).in(read).without(bad);
    Records late = records.get(Fate.LATE).in(read).without(bad).without(taken);
    Records filtered =
        records.get(Fate.FILTERED).in(read).without(bad).without(taken).without(late);
    long earlier = records.get(Fate.BAD).value() - bad.value();
    return new long[] {
      read.value(),
      taken.value(),
      filtered.value(),
      late.value(),
      bad.value(),
      earlier,
      emitted.value()
    };
  }

  Records records(Fate fate) {
    return records.get(fate);
  }

  LongAccumulator emitted() {
    return emitted;
  }
}
