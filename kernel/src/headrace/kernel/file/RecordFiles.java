package headrace.kernel.file;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFileSystem;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Text files of records, for Spark's file source, which lacks one thing: where in the file a record
 * is. Spark decides which files are read and in which batch; a record's place is its file and the
 * byte it begins at.
 */
public abstract class RecordFiles implements FileFormat, Serializable {
  private static final String ZSTD = ".zst";

  /** The records of a file, or of a part of it. */
  interface Records {
    /** The next record's values, in the order of the columns read; null at the end. */
    Object[] next() throws IOException;
  }

  /** Of the records that begin at {@code bytes.position()} and before {@code end}. */
  abstract Records records(Bytes bytes, long end, StructType columns, Map<String, String> options)
      throws IOException;

  /** Whether a file can be split: the next record can be found from the middle of another. */
  abstract boolean cuttable();

  @Override
  public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
    return cuttable() && !packed(path, session.sparkContext().hadoopConfiguration());
  }

  @Override
  public Option<StructType> inferSchema(
      SparkSession session, Map<String, String> options, Seq<FileStatus> files) {
    return Option.empty();
  }

  @Override
  public OutputWriterFactory prepareWrite(
      SparkSession session, Job job, Map<String, String> options, StructType schema) {
    throw new UnsupportedOperationException("read only");
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession session,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration hadoop) {
    Broadcast<SerializableConfiguration> configuration =
        session
            .sparkContext()
            .broadcast(
                new SerializableConfiguration(hadoop),
                ClassTag$.MODULE$.apply(SerializableConfiguration.class));
    return new Open(this, requiredSchema, options, configuration);
  }

  private static boolean packed(Path path, Configuration configuration) {
    return path.getName().endsWith(ZSTD) || codec(path, configuration) != null;
  }

  private static CompressionCodec codec(Path path, Configuration configuration) {
    return new CompressionCodecFactory(configuration).getCodec(path);
  }

  static Opened open(Path path, Configuration configuration) throws IOException {
    FSDataInputStream plain = files(path, configuration).open(path);
    try {
      return new Opened(plain, unpacked(plain, path, configuration));
    } catch (IOException | RuntimeException e) {
      plain.close();
      throw e;
    }
  }

  /** Hadoop can't name the checksums of a file with a colon: it takes the name for a URI. */
  private static FileSystem files(Path path, Configuration configuration) throws IOException {
    FileSystem files = path.getFileSystem(configuration);
    return files instanceof ChecksumFileSystem checked && path.getName().indexOf(':') >= 0
        ? checked.getRawFileSystem()
        : files;
  }

  private static InputStream unpacked(InputStream plain, Path path, Configuration configuration)
      throws IOException {
    // Hadoop's own codec wants its native library.
    if (path.getName().endsWith(ZSTD)) return new ZstdInputStreamNoFinalizer(plain);
    CompressionCodec codec = codec(path, configuration);
    return codec == null ? null : codec.createInputStream(plain);
  }

  /** A file that is read; places in a compressed one are those of its content. */
  static final class Opened implements AutoCloseable {
    private static final int FAR = 1 << 20;

    private final FSDataInputStream plain;
    private final InputStream unpacked;
    private Bytes bytes;

    private Opened(FSDataInputStream plain, InputStream unpacked) {
      this.plain = plain;
      this.unpacked = unpacked;
    }

    Bytes from(long start) throws IOException {
      return unpacked == null ? Bytes.from(plain, start) : Bytes.whole(unpacked);
    }

    /** The bytes from there on; called in the order of the file. */
    Bytes at(long offset) throws IOException {
      if (bytes == null) bytes = unpacked == null ? Bytes.at(plain, offset) : Bytes.whole(unpacked);
      if (unpacked == null && offset - bytes.position() > FAR) bytes = Bytes.at(plain, offset);
      bytes.skipTo(offset);
      return bytes;
    }

    @Override
    public void close() throws IOException {
      if (unpacked != null) unpacked.close();
      plain.close();
    }
  }

  private static final class Open extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    private final RecordFiles format;
    private final StructType columns;
    private final Map<String, String> options;
    private final Broadcast<SerializableConfiguration> configuration;

    private Open(
        RecordFiles format,
        StructType columns,
        Map<String, String> options,
        Broadcast<SerializableConfiguration> configuration) {
      this.format = format;
      this.columns = columns;
      this.options = options;
      this.configuration = configuration;
    }

    @Override
    public Iterator<InternalRow> apply(PartitionedFile file) {
      Configuration hadoop = configuration.value().value();
      try {
        Opened opened = open(file.toPath(), hadoop);
        closeWithTask(opened);
        boolean whole = opened.unpacked != null;
        return new Rows(
            format.records(
                opened.from(file.start()),
                whole ? Long.MAX_VALUE : file.start() + file.length(),
                columns,
                options),
            file);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void closeWithTask(Opened opened) {
      TaskContext task = TaskContext.get();
      if (task == null) return;
      task.addTaskCompletionListener(
          (TaskCompletionListener)
              context -> {
                try {
                  opened.close();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }

  /** Spark declares none of the exceptions that it throws. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException unreadable(Throwable e) throws E {
    throw (E) e;
  }

  private static final class Rows extends AbstractIterator<InternalRow> {
    private final Records records;
    private final PartitionedFile file;
    private Object[] next;

    private Rows(Records records, PartitionedFile file) throws IOException {
      this.records = records;
      this.file = file;
      this.next = records.next();
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    public InternalRow next() {
      InternalRow row = new GenericInternalRow(next);
      try {
        next = records.next();
      } catch (IOException e) {
        // Spark itself names the file only if its beginning can't be read.
        throw RecordFiles.<RuntimeException>unreadable(
            QueryExecutionErrors.cannotReadFilesError(e, file.urlEncodedPath()));
      }
      return row;
    }
  }
}
