package headrace.kernel.file;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code format("headrace.kernel.file.CsvFiles")}: RFC 4180, and the first record of a file names
 * its columns. Columns: any of those, as text, {@code _raw}, {@code _offset}, and {@code _bad}: why
 * a record has no cells.
 *
 * <pre>
 * the header of the file -> the place of each column
 * for each record: cells = split at the delimiter, outside of quotes
 *   as many cells as the header: each column gets its cell; an empty one without quotes is null
 *   otherwise the record is bad; if its quotes are never closed, it is the first line
 * </pre>
 */
public final class CsvFiles extends RecordFiles {
  private static final long serialVersionUID = 1L;
  private static final int LONGEST = 16 << 20;
  private static final List<String> OURS = List.of("_raw", "_offset", "_bad");

  /** A line may be inside of quotes. */
  @Override
  boolean cuttable() {
    return false;
  }

  @Override
  Records records(
      Bytes bytes,
      long end,
      StructType columns,
      scala.collection.immutable.Map<String, String> options)
      throws IOException {
    Splitter splitter = new Splitter(bytes, options.apply("delimiter").charAt(0));
    String[] declared =
        options.apply("columns").isEmpty()
            ? new String[0]
            : options.apply("columns").split("\u0000");
    if (!splitter.next()) return () -> null;
    return new Table(splitter, declared, columns.fieldNames());
  }

  static byte[] record(Bytes bytes, char delimiter) throws IOException {
    Splitter splitter = new Splitter(bytes, delimiter);
    return splitter.next() ? splitter.raw : null;
  }

  private static final class Table implements Records {
    private final Splitter splitter;
    private final String[] columns;
    private final int[] places;
    private final int width;
    private final String unusable;

    private Table(Splitter splitter, String[] declared, String[] columns) {
      this.splitter = splitter;
      this.columns = columns;
      Map<String, Integer> header = new HashMap<>();
      String twice = null;
      this.width = splitter.cells.size();
      for (int i = 0; i < width; i++) {
        UTF8String cell = splitter.cells.get(i);
        String name = cell == null ? "" : cell.toString().strip();
        if (header.putIfAbsent(name, i) != null && List.of(declared).contains(name)) twice = name;
      }
      this.places = new int[columns.length];
      for (int i = 0; i < columns.length; i++) places[i] = header.getOrDefault(columns[i], -1);
      this.unusable =
          twice != null
              ? "the header has the column '" + twice + "' twice"
              : unknown(declared, header);
    }

    private String unknown(String[] declared, Map<String, Integer> header) {
      for (String name : declared) if (header.containsKey(name)) return null;
      return "none of the columns is in the header: "
          + new String(splitter.raw, StandardCharsets.UTF_8);
    }

    @Override
    public Object[] next() throws IOException {
      if (!splitter.next()) return null;
      List<UTF8String> cells = splitter.cells;
      String cause = splitter.cause != null ? splitter.cause : unusable;
      if (cause == null && cells.size() != width)
        cause = cells.size() + " cells, and the header has " + width;
      Object[] values = new Object[columns.length];
      for (int i = 0; i < columns.length; i++) {
        values[i] =
            switch (OURS.indexOf(columns[i])) {
              case 0 -> splitter.raw;
              case 1 -> (Object) splitter.place;
              case 2 -> UTF8String.fromString(cause);
              default -> cause != null || places[i] < 0 ? null : cells.get(places[i]);
            };
      }
      return values;
    }
  }

  /** Records of a file, cut into cells. */
  private static final class Splitter {
    private final Bytes bytes;
    private final int delimiter;
    private byte[] cell = new byte[256];
    private int size;
    private List<UTF8String> cells = List.of();
    private byte[] raw;
    private long place;
    private String cause;

    /** Inside of quotes that end nowhere near. */
    private boolean open;

    private Splitter(Bytes bytes, int delimiter) {
      this.bytes = bytes;
      this.delimiter = delimiter;
    }

    private boolean next() throws IOException {
      do {
        bytes.begin();
        place = bytes.position();
        if (bytes.peek() == Bytes.END) return false;
        cells = new ArrayList<>(cells.size());
        cause = null;
        open = false;
        while (cell()) {}
        if (open) {
          // The next line may begin a record.
          bytes.rewind();
          bytes.readLine();
          cause = "a quote that is never closed";
        }
        raw = bytes.taken();
      } while (raw.length == 0);
      return true;
    }

    /** Whether another one follows. */
    private boolean cell() throws IOException {
      size = 0;
      boolean quoted = bytes.peek() == '"';
      if (quoted) quoted();
      if (open) return false;
      while (true) {
        int next = bytes.read();
        if (next == '\r' && bytes.peek() == '\n') continue;
        if (next == delimiter || next == '\n' || next == Bytes.END) {
          cells.add(size == 0 && !quoted ? null : UTF8String.fromBytes(Arrays.copyOf(cell, size)));
          return next == delimiter;
        }
        if (quoted && cause == null) cause = "text after a closing quote";
        put(next);
      }
    }

    private void put(int next) {
      if (size == cell.length) cell = Arrays.copyOf(cell, 2 * size);
      cell[size++] = (byte) next;
    }

    private void quoted() throws IOException {
      bytes.read();
      while (true) {
        int next = bytes.read();
        if (next == Bytes.END || bytes.length() > LONGEST) {
          open = true;
          return;
        }
        if (next == '"') {
          if (bytes.peek() != '"') return;
          bytes.read();
        }
        put(next);
      }
    }
  }
}
