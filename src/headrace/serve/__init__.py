"""Views: what topics hold, kept on disk, looked up, queried and pushed over HTTP. Imports no Spark."""
