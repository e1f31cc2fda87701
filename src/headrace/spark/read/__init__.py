"""Sources while they run; one file a system. `inputs.of` picks it, and the runtime knows only `Input`."""
