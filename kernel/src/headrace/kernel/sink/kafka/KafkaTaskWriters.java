package headrace.kernel.sink.kafka;

import headrace.kernel.sink.Destinations;
import headrace.kernel.sink.Rows;
import headrace.kernel.sink.TaskOutput;
import headrace.kernel.sink.TaskWriter;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Records of one task. In the driver's process tasks send them themselves, all through the batch's
 * one producer; on a cluster they hand them to the driver, because a transaction belongs to one
 * process.
 */
record KafkaTaskWriters(String sink, int index) implements TaskWriter.Factory {
  KafkaTaskWriters(KafkaDestination.Settings settings, int index) {
    this(settings.id(), index);
  }

  @Override
  public TaskWriter open(int partition) {
    Destinations here = Destinations.find(sink);
    return here == null ? new Packed(index) : ((KafkaBatch) here.batchWrite(index)).open(partition);
  }

  interface Records {
    void send(int route, byte[] key, byte[] value, Header[] headers);
  }

  /** What a task's {@link Packed} holds, if it had to pack. */
  static void unpack(Serializable result, Records to) {
    if (result == null) return;
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(((TaskOutput.Stored) result).open()))) {
      for (int route = in.read(); route >= 0; route = in.read())
        to.send(route, field(in), field(in), headers(in));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] field(DataInputStream in) throws IOException {
    int length = in.readInt();
    return length < 0 ? null : in.readNBytes(length);
  }

  private static Header[] headers(DataInputStream in) throws IOException {
    Header[] headers = new Header[in.readUnsignedShort()];
    for (int i = 0; i < headers.length; i++) headers[i] = new RecordHeader(in.readUTF(), field(in));
    return headers;
  }

  private static final class Packed implements TaskWriter {
    private final TaskOutput rows;
    private final DataOutputStream out;

    Packed(int index) {
      rows = new TaskOutput(index);
      out = new DataOutputStream(rows);
    }

    @Override
    public void write(InternalRow row) {
      try {
        out.writeByte(Rows.route(row));
        field(Rows.key(row));
        field(Rows.value(row));
        headers(Rows.headers(row));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void field(byte[] value) throws IOException {
      out.writeInt(value == null ? -1 : value.length);
      if (value != null) out.write(value);
    }

    private void headers(Header[] headers) throws IOException {
      out.writeShort(headers.length);
      for (Header header : headers) {
        out.writeUTF(header.key());
        field(header.value());
      }
    }

    @Override
    public Serializable finish() {
      return rows.finish();
    }

    @Override
    public void abort() {
      rows.abort();
    }
  }
}
