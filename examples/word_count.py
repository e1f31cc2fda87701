"""Counts words, as they come: every line of the topic `lines` is split, every word counted.

headrace run examples/word_count.py
"""

import headrace as hr

app = hr.App("word-count")

lines = app.stream("lines", format="text")
words = lines.explode("split(lower(value), '[^a-z]+')", name="word").where("word != ''")
words.key_by("word").count().to("word-counts")

if __name__ == "__main__":
    app.run()
