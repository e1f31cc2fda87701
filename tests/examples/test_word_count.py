from examples.word_count import app


def test_words_are_counted_whatever_their_case_and_punctuation(drive):
    t = drive(app)
    t.feed("lines", ["The quick fox, the lazy dog.", b"", "THE END"]).run()
    assert {word: row["count"] for word, row in t.table("word-counts").items()} == {
        "the": 3,
        "quick": 1,
        "fox": 1,
        "lazy": 1,
        "dog": 1,
        "end": 1,
    }


def test_counts_go_on_after_a_crash(drive):
    t = drive(app)
    t.feed("lines", ["one two"]).run().crash()
    t.feed("lines", ["two"]).run()
    assert {word: row["count"] for word, row in t.table("word-counts").items()} == {"one": 1, "two": 2}
