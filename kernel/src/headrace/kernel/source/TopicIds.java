package headrace.kernel.source;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;

/**
 * The ids of the topics that a query reads and writes, as they were when its checkpoint was
 * compared with the program.
 *
 * <p>A topic that is deleted and created again has the same name and another id, and its offsets
 * refer to other records. Ids are never reused: a topic that has its id when a batch is done had it
 * while the batch was planned and read. So a batch is committed only after the ids have been
 * compared.
 */
public final class TopicIds implements AutoCloseable {
  /**
   * The local property of a query whose ids are compared when a batch is planned, because its sink
   * is Spark's and compares nothing at the commit.
   */
  public static final String PLANNED = "headrace.topics.planned";

  private static final Map<String, TopicIds> KNOWN = new ConcurrentHashMap<>();
  private static final long SECONDS = 60;

  private final Map<String, String> ids;
  private final Admin admin;

  private TopicIds(Map<String, String> client, Map<String, String> ids) {
    this.ids = Map.copyOf(ids);
    this.admin = Admin.create(new HashMap<>(client));
  }

  /**
   * @param query its id
   * @param client how to reach the broker
   * @param ids by topic, as Java writes them
   */
  public static void expect(String query, Map<String, String> client, Map<String, String> ids) {
    forget(query);
    KNOWN.put(query, new TopicIds(client, ids));
  }

  public static void forget(String query) {
    TopicIds before = KNOWN.remove(query);
    if (before != null) before.close();
  }

  /** Throws if a topic of the query has been created again. */
  public static void check(String query) {
    TopicIds expected = KNOWN.get(query);
    if (expected != null) expected.check();
  }

  private void check() {
    try {
      Map<String, TopicDescription> found =
          admin.describeTopics(ids.keySet()).allTopicNames().get(SECONDS, TimeUnit.SECONDS);
      for (Map.Entry<String, String> expected : ids.entrySet()) {
        String id = found.get(expected.getKey()).topicId().toString();
        if (!id.equals(expected.getValue())) throw new RecreatedException(expected.getKey());
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException(
          "the topics can't be compared with what they were: " + e.getCause().getMessage(),
          e.getCause());
    } catch (TimeoutException e) {
      throw new IllegalStateException(
          "the topics can't be compared with what they were: the broker does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("stopped while the topics were compared", e);
    }
  }

  @Override
  public void close() {
    admin.close(Duration.ZERO);
  }

  /** A topic was deleted and created again. */
  static final class RecreatedException extends IllegalStateException {
    RecreatedException(String topic) {
      super("HEADRACE_RECREATED topic=" + topic);
    }
  }
}
