package headrace.kernel.file;

import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
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
 * Text files of records, for Spark's file source, which lacks one thing: where in the file a record is. Spark decides which files are
 * read and in which batch; a record's place is its file and the byte it begins at.
 */
public abstract class RecordFiles implements FileFormat, Serializable {
  /** The records of a file, or of a part of it. */
  interface Records {
    /** The next one's values, in the order of the columns that were asked for; null at the end. */
    Object[] next() throws IOException;
  }

  /** Of the records that begin at {@code bytes.position()} and before {@code end}. */
  abstract Records records(Bytes bytes, long end, StructType columns, Map<String, String> options) throws IOException;

  /** Whether a record can be told from its middle. */
  abstract boolean cuttable();

  @Override
  public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
    return cuttable() && codec(path, session.sparkContext().hadoopConfiguration()) == null;
  }

  @Override
  public Option<StructType> inferSchema(SparkSession session, Map<String, String> options, Seq<FileStatus> files) {
    return Option.empty();
  }

  @Override
  public OutputWriterFactory prepareWrite(SparkSession session, Job job, Map<String, String> options, StructType schema) {
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
        session.sparkContext().broadcast(new SerializableConfiguration(hadoop), ClassTag$.MODULE$.apply(SerializableConfiguration.class));
    return new Open(this, requiredSchema, options, configuration);
  }

  private static CompressionCodec codec(Path path, Configuration configuration) {
    return new CompressionCodecFactory(configuration).getCodec(path);
  }

  private static final class Open extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements Serializable {
    private static final long serialVersionUID = 1L;

    private final RecordFiles format;
    private final StructType columns;
    private final Map<String, String> options;
    private final Broadcast<SerializableConfiguration> configuration;

    private Open(RecordFiles format, StructType columns, Map<String, String> options, Broadcast<SerializableConfiguration> configuration) {
      this.format = format;
      this.columns = columns;
      this.options = options;
      this.configuration = configuration;
    }

    @Override
    public Iterator<InternalRow> apply(PartitionedFile file) {
      Path path = file.toPath();
      Configuration hadoop = configuration.value().value();
      try {
        FSDataInputStream plain = path.getFileSystem(hadoop).open(path);
        closeWithTask(plain);
        CompressionCodec codec = codec(path, hadoop);
        if (codec != null) {
          // Places in it are those of its content.
          InputStream unpacked = codec.createInputStream(plain);
          closeWithTask(unpacked);
          return new Rows(format.records(Bytes.whole(unpacked), Long.MAX_VALUE, columns, options));
        }
        return new Rows(format.records(Bytes.from(plain, file.start()), file.start() + file.length(), columns, options));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void closeWithTask(InputStream stream) {
      TaskContext task = TaskContext.get();
      if (task == null) return;
      task.addTaskCompletionListener(
          (TaskCompletionListener)
              context -> {
                try {
                  stream.close();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }

  private static final class Rows extends AbstractIterator<InternalRow> {
    private final Records records;
    private Object[] next;

    private Rows(Records records) throws IOException {
      this.records = records;
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
        throw new UncheckedIOException(e);
      }
      return row;
    }
  }
}
