import random
from datetime import timedelta

from examples.top_stocks import app
from headrace.testing import at

START = at("00:00:00")


def test_the_first_ten_of_each_day_follow_every_trade(drive):
    chance = random.Random(7)
    trades = [
        {"symbol": f"S{chance.randrange(16):02}", "price": chance.randint(50, 150) / 10, "at": START + timedelta(seconds=n)}
        for n in chance.sample(range(0, 2 * 24 * 3600, 7), 240)
    ]
    trades.append({"symbol": "BAD", "price": -1.0, "at": START})
    t = drive(app)
    t.feed("trades", trades[:160]).run()
    assert found(t) == top_ten(trades[:160])
    t.feed("trades", trades[160:]).run()
    assert found(t) == top_ten(trades)
    assert [len(stocks) for stocks in found(t).values()] == [10, 10]


def found(t):
    return {
        day: [(stock["symbol"], stock["gain"]) for stock in row["stocks"]] for day, row in sorted(t.table("top-stocks").items())
    }


def top_ten(trades):
    """The same with a loop, over all trades."""
    prices = {}
    for trade in sorted((trade for trade in trades if trade["price"] > 0), key=lambda trade: trade["at"]):
        prices.setdefault(str(trade["at"].date()), {}).setdefault(trade["symbol"], []).append(trade["price"])
    return {
        day: sorted(((symbol, of[-1] / of[0] - 1) for symbol, of in stocks.items()), key=lambda stock: stock[::-1])[:-11:-1]
        for day, stocks in sorted(prices.items())
    }
