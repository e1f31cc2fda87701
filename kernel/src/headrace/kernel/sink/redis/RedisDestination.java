package headrace.kernel.sink.redis;

import headrace.kernel.sink.Batch;
import headrace.kernel.sink.BatchWrite;
import headrace.kernel.sink.BufferedBatch;
import headrace.kernel.sink.Cells;
import headrace.kernel.sink.Context;
import headrace.kernel.sink.Destination;
import headrace.kernel.sink.Mark;
import headrace.kernel.sink.Marks;
import headrace.kernel.sink.Options;
import headrace.kernel.sink.Point;
import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.Shape;
import headrace.kernel.sink.SinkException;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;

/**
 * A cache in Redis: a hash for each row, under the prefix and the row's key.
 *
 * <p>A batch of up to {@link #AT_ONCE} rows is one transaction with its mark. A larger one is
 * several, the mark in the last: after a crash between two of them the batch is written again,
 * which changes nothing, because a row is set as a whole. It is not durable: what Redis loses in a
 * crash or by eviction is not written again.
 */
public final class RedisDestination implements Destination {
  private static final int AT_ONCE = 5_000;
  private static final String EPOCH = "epoch", MARK = "mark";

  /**
   * @param user null for the default one
   */
  private record Server(
      String host, int port, int database, boolean tls, String user, String password) {
    Redis connect() throws IOException {
      Redis redis = new Redis(host, port, tls);
      try {
        if (password != null && user != null) redis.ask("AUTH", user, password);
        else if (password != null) redis.ask("AUTH", password);
        if (database != 0) redis.ask("SELECT", database);
        return redis;
      } catch (IOException e) {
        redis.close();
        throw e;
      }
    }

    @Override
    public String toString() {
      return "Redis at " + host + ":" + port + "/" + database;
    }
  }

  private final String sink;
  private final int index;
  private final Server server;
  private final String prefix;
  private final String query;
  private final String place;
  private final Shape shape;
  private final long expire;
  private Redis redis;
  private String epoch;

  public RedisDestination(Context context, Options options) {
    this.sink = context.sink();
    this.index = context.index();
    this.server =
        new Server(
            options.text("host"),
            options.number("port"),
            options.number("database"),
            options.flag("tls"),
            options.text("user"),
            options.text("password"));
    this.prefix = options.text("prefix");
    this.query = context.mark();
    this.place = "headrace:marks:" + query;
    this.shape = context.shape();
    // In seconds, 0 for never.
    this.expire = options.number("expire");
  }

  @Override
  public String name() {
    return "the cache " + prefix;
  }

  @Override
  public String id() {
    return query;
  }

  @Override
  public String place() {
    return server.toString();
  }

  /** It is a cache. */
  @Override
  public boolean forgetful() {
    return true;
  }

  @Override
  public Mark begin() {
    for (int i = 0; i < shape.fields(); i++) {
      if (Cells.text(shape.of(i)) != null || shape.of(i) instanceof BinaryType) continue;
      throw new RefusedException(
          "the column "
              + shape.names().get(i)
              + " is a "
              + shape.of(i).simpleString()
              + ": cast it to a string");
    }
    try {
      redis = server.connect();
      epoch = redis.ask("HINCRBY", place, EPOCH, 1).toString();
      String mark = (String) redis.ask("HGET", place, MARK);
      return mark == null ? null : Mark.parse(mark);
    } catch (IOException e) {
      throw error(e);
    }
  }

  @Override
  public void forget() {
    try {
      redis = server.connect();
      redis.ask("HINCRBY", place, EPOCH, 1);
      redis.ask("HDEL", place, MARK);
    } catch (IOException e) {
      throw error(e);
    }
  }

  @Override
  public void empty() {
    try (Redis own = server.connect()) {
      // What Redis would take for a pattern is meant as it is.
      String pattern = prefix.replaceAll("[\\\\*?\\[\\]]", "\\\\$0") + ":*";
      String cursor = "0";
      do {
        List<?> found = (List<?>) own.ask("SCAN", cursor, "MATCH", pattern, "COUNT", 5000);
        cursor = (String) found.get(0);
        List<Object> words = new ArrayList<>(List.of("DEL"));
        words.addAll((List<?>) found.get(1));
        if (words.size() > 1) own.ask(words.toArray());
      } while (!cursor.equals("0"));
    } catch (IOException e) {
      throw error(e);
    }
  }

  @Override
  public BatchWrite open(Batch batch) {
    return new BufferedBatch(new BufferedBatch.Writers(sink, index, true, false, shape)) {
      @Override
      public boolean commit(List<Serializable> results, Mark mark) {
        if (mark.rows() == 0) return false;
        try {
          Transaction transaction = new Transaction();
          forEach(results, shape.fields(), transaction::take);
          transaction.set(place, MARK, mark.text());
          Point.ROWS_SENT.reached(batch.number());
          transaction.commit();
          Point.ANSWERED.reached(batch.number());
          return true;
        } catch (IOException e) {
          throw error(e);
        } finally {
          drop();
        }
      }
    };
  }

  /** Some of a batch's rows; begins when there is one. */
  private final class Transaction {
    private final Cells.Text[] cells =
        IntStream.range(0, shape.fields())
            .mapToObj(i -> Cells.text(shape.of(i)))
            .toArray(Cells.Text[]::new);
    private final byte[][] names = shape.names().stream().map(Batch::utf8).toArray(byte[][]::new);
    private int rows = 0;
    private int commands = 0;

    void take(byte[] key, byte[] value, boolean deleted, InternalRow row) {
      try {
        add(key, deleted, row);
      } catch (IOException e) {
        throw error(e);
      }
    }

    private void add(byte[] key, boolean deleted, InternalRow row) throws IOException {
      if (key == null)
        throw new RefusedException("a row for " + name() + " has no key: leave such rows out");
      if (rows == AT_ONCE) commit();
      String at = prefix + ":" + Batch.text(key);
      // Away with the old row first: a column that is null now has no field.
      queue("DEL", at);
      if (!deleted) {
        List<Object> words = new ArrayList<>(List.of("HSET", at));
        for (int i = 0; i < names.length; i++) {
          if (row.isNullAt(i)) continue;
          words.add(names[i]);
          words.add(cells[i] == null ? row.getBinary(i) : cells[i].of(row, i));
        }
        if (words.size() > 2) queue(words.toArray());
        if (words.size() > 2 && expire > 0) queue("EXPIRE", at, expire);
      }
      rows++;
    }

    void set(String key, String field, String text) throws IOException {
      queue("HSET", key, field, text);
    }

    private void queue(Object... words) throws IOException {
      if (commands == 0) begin();
      redis.send(words);
      commands++;
    }

    /**
     * Redis carries a transaction out only if nobody has touched what is watched: the epoch, which
     * a new run raises.
     */
    private void begin() throws IOException {
      redis.ask("WATCH", place);
      if (!epoch.equals(redis.ask("HGET", place, EPOCH))) throw Marks.replaced(query, name());
      redis.send("MULTI");
    }

    void commit() throws IOException {
      redis.send("EXEC");
      for (int i = 0; i <= commands; i++) redis.reply();
      List<?> results = (List<?>) redis.reply();
      if (results == null) throw Marks.replaced(query, name());
      for (Object result : results)
        if (result instanceof Redis.Refusal refusal)
          throw new IOException("Redis says: " + refusal.text());
      rows = 0;
      commands = 0;
    }
  }

  private SinkException error(IOException e) {
    String why = e.getMessage() == null ? "the connection was lost" : e.getMessage();
    return SinkException.of(name() + " in " + server + ": " + why, e);
  }

  @Override
  public void close() {
    try {
      if (redis != null) redis.close();
    } catch (IOException ignored) {
      // Nothing is open in it.
    }
  }
}
