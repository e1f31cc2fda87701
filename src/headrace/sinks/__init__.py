"""Where rows go besides topics; one file a system."""
