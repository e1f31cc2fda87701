"""Effects on people and systems: rows become e-mails, webhook calls or calls of a function, each decided once."""
