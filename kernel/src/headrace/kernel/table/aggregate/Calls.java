package headrace.kernel.table.aggregate;

import java.io.Serializable;

/** The calls of an aggregation, and how many columns their row of arguments has. */
public record Calls(Call[] calls, int arguments) implements Serializable {}
