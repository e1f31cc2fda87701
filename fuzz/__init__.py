"""Random programs over random histories, compared with an interpreter that shares no code with the product."""
