"""The topology as data. Frozen values that know their inputs, columns, key, kind and the user's line; no Spark in here."""
