-- Times are milliseconds since 1970, UTC. All of it can be made again from transcripts and sessions.
CREATE TABLE sources (
    id       INTEGER PRIMARY KEY,
    -- Path of a transcript; `opencode:ID` for a conversation in opencode's database; `session:ID` for a session of dogwatch.
    path     TEXT NOT NULL UNIQUE,
    agent    TEXT NOT NULL,
    -- The agent's own id of the conversation.
    conversation TEXT,
    cwd      TEXT,
    title    TEXT,
    -- Up to where it was read, and a fingerprint of what stands before that.
    read_to  INTEGER NOT NULL,
    print    INTEGER NOT NULL,
    -- Length and time of the file when it was last looked at.
    length   INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    -- Rows so far.
    count    INTEGER NOT NULL,
    -- When the last of it was said.
    latest   INTEGER NOT NULL
) STRICT;
CREATE INDEX sources_by_time ON sources (latest);

-- rowid: the source's id << 32, and the number within it. So all rows of a source are beside each other.
CREATE VIRTUAL TABLE texts USING fts5(text, said UNINDEXED, at UNINDEXED, tokenize = "unicode61 remove_diacritics 2", columnsize = 0);
