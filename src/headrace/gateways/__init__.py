"""How records of other systems get into topics: one loop, one protocol for positions (ARCHITECTURE.md, "Positions")."""
