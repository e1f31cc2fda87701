package headrace.kernel.sink.postgres;

import headrace.kernel.sink.RefusedException;
import headrace.kernel.sink.SinkException;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.postgresql.Driver;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * How a PostgreSQL is reached, from the driver and from tasks. Its text contains no secret, nor do
 * the errors.
 */
final class PostgresServer implements Serializable {
  private final String host;
  private final int port;
  private final String database;
  private final Map<String, String> options;
  private final String password;

  /** {@code options} as pgjdbc names them, the user among them; {@code password} null for none. */
  PostgresServer(
      String host, int port, String database, Map<String, String> options, String password) {
    this.host = host;
    this.port = port;
    this.database = database;
    this.options = Map.copyOf(options);
    this.password = password;
  }

  Connection connect() throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("ApplicationName", "headrace");
    properties.setProperty("tcpKeepAlive", "true");
    properties.setProperty("connectTimeout", "20");
    properties.putAll(options);
    if (password != null) properties.setProperty("password", password);
    String name = java.net.URLEncoder.encode(database, java.nio.charset.StandardCharsets.UTF_8);
    // Not by DriverManager: it does not see what Spark has loaded.
    return new Driver().connect("jdbc:postgresql://" + host + ":" + port + "/" + name, properties);
  }

  /**
   * What went wrong in one sentence, and whether another try may help: lost connections, locks and
   * full disks pass.
   */
  RuntimeException error(String destination, SQLException e) {
    ServerErrorMessage said = e instanceof PSQLException p ? p.getServerErrorMessage() : null;
    String text = destination + ": " + sentence(said, e);
    String state = e.getSQLState() == null ? "" : e.getSQLState();
    boolean lasting = said != null && state.matches("(0A|22|23|28|3D|3F|42|44).*");
    return lasting ? RefusedException.of(text, e) : SinkException.of(text, e);
  }

  private static String sentence(ServerErrorMessage said, SQLException e) {
    if (said == null) return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    String where = said.getWhere() == null ? "" : said.getWhere().lines().findFirst().orElse("");
    String detail = said.getDetail() == null ? "" : " (" + said.getDetail() + ")";
    // COPY names the column and the value it could not take.
    int column = where.indexOf(", column ");
    return said.getMessage() + detail + (column < 0 ? "" : " in" + where.substring(column + 1));
  }

  @Override
  public String toString() {
    return "PostgreSQL at " + host + ":" + port + "/" + database;
  }
}
