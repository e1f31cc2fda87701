"""SQL's half of the plan: expressions, functions, types and schemas, checked without Spark."""
