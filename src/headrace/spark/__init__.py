"""Plan -> Spark. `jvm` alone touches py4j."""
