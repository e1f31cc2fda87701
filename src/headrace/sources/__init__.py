"""Where records come from; one file a system. Each gives the columns of Spark's Kafka source."""
