package headrace.kernel.sink.redis;

import headrace.kernel.sink.Batch;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Just enough of Redis' protocol: commands out, one after the other, and their replies in the same
 * order.
 */
final class Redis implements AutoCloseable {
  private static final int PATIENCE_MS = 20_000;

  private final Socket socket;
  private final OutputStream out;
  private final DataInputStream in;

  /** What Redis refused. */
  record Refusal(String text) {}

  Redis(String host, int port, boolean tls) throws IOException {
    Socket plain = new Socket();
    plain.connect(new InetSocketAddress(host, port), PATIENCE_MS);
    plain.setSoTimeout(PATIENCE_MS);
    plain.setTcpNoDelay(true);
    socket = tls ? secured(plain, host, port) : plain;
    out = new BufferedOutputStream(socket.getOutputStream(), 1 << 16);
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
  }

  private static Socket secured(Socket plain, String host, int port) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            ((SSLSocketFactory) SSLSocketFactory.getDefault())
                .createSocket(plain, host, port, true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    return socket;
  }

  /** A command on its way; its reply is to be read later. */
  void send(Object... words) throws IOException {
    header('*', words.length);
    for (Object word : words) {
      byte[] bytes = word instanceof byte[] same ? same : Batch.utf8(word.toString());
      header('$', bytes.length);
      out.write(bytes);
      out.write('\r');
      out.write('\n');
    }
  }

  private void header(char kind, int number) throws IOException {
    out.write(kind);
    out.write(Integer.toString(number).getBytes(StandardCharsets.US_ASCII));
    out.write('\r');
    out.write('\n');
  }

  /** The command's reply: null, text, a number, a list or, within lists, a refusal. */
  Object ask(Object... words) throws IOException {
    send(words);
    return reply();
  }

  Object reply() throws IOException {
    out.flush();
    Object reply = read();
    if (reply instanceof Refusal refusal) throw new IOException("Redis says: " + refusal.text);
    return reply;
  }

  private Object read() throws IOException {
    int kind = in.readUnsignedByte();
    String line = line();
    return switch (kind) {
      case '+' -> line;
      case '-' -> new Refusal(line);
      case ':' -> Long.valueOf(line);
      case '$' -> bulk(Integer.parseInt(line));
      case '*' -> list(Integer.parseInt(line));
      default -> throw new IOException("this is no Redis: it answered with '" + (char) kind + "'");
    };
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int b = in.readUnsignedByte(); b != '\r'; b = in.readUnsignedByte()) line.append((char) b);
    in.readByte();
    return line.toString();
  }

  private String bulk(int length) throws IOException {
    if (length < 0) return null;
    String text = Batch.text(in.readNBytes(length));
    in.skipNBytes(2);
    return text;
  }

  private List<Object> list(int length) throws IOException {
    if (length < 0) return null;
    List<Object> list = new ArrayList<>(length);
    for (int i = 0; i < length; i++) list.add(read());
    return list;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
