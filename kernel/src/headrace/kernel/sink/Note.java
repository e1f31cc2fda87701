package headrace.kernel.sink;

import java.io.Serializable;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What a task tells when it is done: how many rows, and what each end's part of it left. */
record Note(long rows, Serializable[] parts) implements WriterCommitMessage {}
