"""The log: the embedded Kafka, topics, consumer groups, sending and peeking."""
