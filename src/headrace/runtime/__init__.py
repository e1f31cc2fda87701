"""Runs an app: starts its queries, watches them, restarts what failed, and says how it goes."""
