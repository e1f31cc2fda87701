from examples.stock_statistics import app
from headrace.testing import at


def test_each_symbol_has_its_statistics_every_five_seconds(drive):
    t = drive(app)
    t.feed(
        "trades",
        """
        at         | symbol | price | qty
        10:00:01   | A      | 10.0  | 1
        10:00:04.9 | A      | 12.0  | 1
        10:00:02   | B      | 7.0   | 3
        10:00:05   | A      | 8.0   | 2
        10:00:05   | A      | -1.0  | 2
        """,
    ).run()
    rows = {(row["symbol"], row["window_start"]): row for row in t.rows("trade-statistics")}
    first = rows["A", at("10:00:00")]
    assert (first["low"], first["high"], first["mean"], first["trades"]) == (10.0, 12.0, 11.0, 2)
    assert first["window_end"] == at("10:00:05")
    assert rows["A", at("10:00:05")]["trades"] == 1
    assert rows["B", at("10:00:00")]["mean"] == 7.0
    assert len(rows) == 3
