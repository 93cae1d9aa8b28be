-- Messages to agents, in the order in which they were posted. One without an outcome is still to be delivered.
CREATE TABLE messages (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    session  TEXT NOT NULL,
    -- As it is pasted or typed.
    text     TEXT NOT NULL,
    slash    INTEGER NOT NULL,
    -- JSON: when it may be delivered, and what was changed in the text.
    terms    TEXT NOT NULL,
    posted   INTEGER NOT NULL,
    -- The process that delivers it; if it is gone, the next one takes it over.
    sender_pid   INTEGER NOT NULL,
    sender_start INTEGER NOT NULL,
    -- How far it has come, and the last signal before it was put into the box.
    phase    TEXT NOT NULL,
    heard    INTEGER NOT NULL,
    staged   INTEGER,
    submitted INTEGER,
    -- JSON.
    outcome  TEXT,
    done     INTEGER
) STRICT;
CREATE INDEX messages_by_session ON messages (session, number);
