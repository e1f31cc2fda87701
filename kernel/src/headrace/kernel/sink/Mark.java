package headrace.kernel.sink;

/** What a destination stores in the transaction of the rows themselves: the last batch it wrote. */
public record Mark(String checkpoint, long batch, String hash, long rows) {
  private static final String SEPARATOR = " ";

  /**
   * Whether the destination that has this mark (null for none) has the batch too. Refuses a batch
   * that does not follow it.
   */
  static boolean covers(Mark mark, Batch batch, String destination) {
    if (mark == null) return false;
    if (!mark.checkpoint.equals(batch.checkpoint()))
      throw MarkException.other(destination, mark, batch.number());
    if (mark.batch < batch.number()) return false;
    if (mark.batch > batch.number()) throw MarkException.back(destination, mark, batch.number());
    if (!mark.hash.equals(batch.hash()))
      throw MarkException.changed(destination, mark, batch.number());
    return true;
  }

  /**
   * Refuses a destination that does not fit the checkpoint, before a batch is planned.
   *
   * @param mark null for none
   * @param last what the destination has confirmed, null for nothing
   */
  static void fits(Mark mark, Confirmed.Last last, Confirmed checkpoint, String place) {
    long next = checkpoint.done() + 1;
    if (mark != null && !mark.checkpoint.equals(checkpoint.checkpoint()))
      throw MarkException.other(place, mark, next);
    if (mark != null && mark.batch > next) throw MarkException.back(place, mark, next);
    if (last != null && (mark == null || mark.batch < last.batch()))
      throw MarkException.lost(place, mark, last.batch());
  }

  public String text() {
    return String.join(SEPARATOR, checkpoint, Long.toString(batch), hash, Long.toString(rows));
  }

  public static Mark parse(String text) {
    String[] parts = text.split(SEPARATOR);
    return new Mark(parts[0], Long.parseLong(parts[1]), parts[2], Long.parseLong(parts[3]));
  }
}
