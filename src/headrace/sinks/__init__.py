"""Where records go; one file a system."""
