"""The ten stocks that gained most, for each day, right after every trade.

headrace run examples/top_stocks.py
"""

import headrace as hr

app = hr.App("top-stocks")

trades = app.stream("trades", schema="symbol string, price double, at timestamp", time="at", bad="skip")

# First by stock and day: what the day's first and last trade say of the stock.
stocks = (
    trades.where("price > 0")
    .key_by("symbol", day="date(at)")
    .agg(first="min_by(price, at)", last="max_by(price, at)")
    .with_columns(gain="last / first - 1")
)
# Then by day: when a stock's gain changes, the old one is retracted.
top = stocks.key_by("day").agg(stocks="max_by(struct(symbol, gain), struct(gain, symbol), 10)")
top.to("top-stocks")

if __name__ == "__main__":
    app.run()
