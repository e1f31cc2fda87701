"""Lowest, highest and average price and the number of trades, per symbol and 5 seconds.

headrace run examples/stock_statistics.py
"""

import headrace as hr

app = hr.App("stock-statistics")

trades = app.stream(
    "trades",
    schema="symbol string, price double, qty int, at timestamp",
    time="at",
    lateness="2 seconds",
)
statistics = (
    trades.where("price > 0 and qty > 0")
    .key_by("symbol")
    .window(hr.tumbling("5 seconds"))
    .agg(low="min(price)", high="max(price)", mean="avg(price)", trades="count(*)")
)
statistics.to("trade-statistics")

if __name__ == "__main__":
    app.run()
