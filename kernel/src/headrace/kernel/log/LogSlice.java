package headrace.kernel.log;

import org.apache.spark.sql.connector.read.InputPartition;

/** The records of a partition from one offset up to another. */
record LogSlice(String log, String topic, int partition, long from, long to)
    implements InputPartition {}
