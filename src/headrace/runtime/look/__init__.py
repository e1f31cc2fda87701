"""A look at a program or its data without running it for good: check, preview, read, dev."""
