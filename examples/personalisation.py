"""The five articles that suit each reader best, kept right with every click, new article and change of settings.

headrace run examples/personalisation.py
"""

import headrace as hr

app = hr.App("personalisation")

readers = app.table("readers", key="reader", schema="reader string, language string, personal boolean")
articles = app.table("articles", key="article", schema="article string, subject string, language string, score int")
clicks = app.stream("clicks", schema="reader string, subject string, at timestamp", time="at")

# How often each reader clicked on each subject. Whoever opts out is counted no longer.
interests = (
    clicks.key_by("reader")
    .join(readers, on="reader")
    .where("personal")
    .key_by("reader", "subject", "language")
    .agg(clicks="count(*)")
)
# Articles about these subjects, in the reader's language. When an interest grows, its earlier rank is retracted.
recommended = (
    interests.join(articles, on=("subject", "language"))
    .key_by("reader")
    .agg(articles="max_by(article, struct(clicks, score, article), 5)")
)
recommended.to("recommendations")

if __name__ == "__main__":
    app.run()
