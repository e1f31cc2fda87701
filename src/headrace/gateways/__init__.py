"""Writes records of other systems to topics: one loop, one protocol for positions (ARCHITECTURE.md, "Positions")."""
