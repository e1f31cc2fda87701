"""Plan -> Spark. `jvm` is the one file that touches py4j."""
