"""The newest 100 tweets of the people whom each user follows, kept right after every tweet, deletion, follow and unfollow.

headrace run examples/home_timeline.py
"""

import headrace as hr

app = hr.App("home-timeline")

tweets = app.stream("tweets", schema="event string, id long, author string, text string, at timestamp", time="at")
follows = app.stream("follows", schema="event string, follower string, followee string, at timestamp", time="at")

# The newest event of each tweet, and of each follower and followee: where it says that they are there, they are rows.
there = tweets.as_table(key="id").where("event = 'sent'").select("id", "author", "text", sent="at")
following = follows.as_table(key=("follower", "followee")).where("event = 'followed'").select("follower", "followee")

timelines = (
    following.join(there, on={"followee": "author"})
    .key_by("follower")
    .agg(timeline="max_by(struct(id, followee as author, text, sent), struct(sent, id), 100)")
)
timelines.to("timelines")

if __name__ == "__main__":
    app.run()
