-- Work that a session wants to be told of (`--notify-me`).
CREATE TABLE callbacks (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The session that is told, and the one that works.
    subscriber TEXT NOT NULL,
    session    TEXT NOT NULL,
    -- Null: the first turn of the session.
    job        TEXT,
    created    INTEGER NOT NULL,
    -- The key of the last event that was told.
    told       TEXT,
    over       INTEGER
) STRICT;
CREATE INDEX callbacks_open ON callbacks (subscriber) WHERE over IS NULL;

-- What happened, until it is in a message.
CREATE TABLE callback_news (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    subscriber TEXT NOT NULL,
    session    TEXT NOT NULL,
    at         INTEGER NOT NULL,
    text       TEXT NOT NULL,
    -- Id of the message; empty if the subscriber ended before.
    message    TEXT
) STRICT;
CREATE INDEX callback_news_open ON callback_news (subscriber) WHERE message IS NULL;
