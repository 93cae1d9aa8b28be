-- What was read from transcripts, and up to where. A cache of its own: it can be made again from the transcripts that are there.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    -- Up to here it was read: the end of a line.
    offset INTEGER NOT NULL,
    -- A hash of the bytes before that place: a file that was rewritten has others there.
    tail INTEGER NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cwd TEXT NOT NULL,
    UNIQUE (agent, conversation)
);

-- The usage of a conversation in a quarter of an hour.
CREATE TABLE buckets (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    model INTEGER NOT NULL,
    -- 1: a subagent; the rest: the length of the prompt.
    kind INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    UNIQUE (thread, slot, model, kind)
);

-- Every answer that was counted, by a hash of its ids, with what was counted.
CREATE TABLE messages (
    key INTEGER PRIMARY KEY,
    bucket INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL
);

-- Which session of dogwatch has had a conversation.
CREATE TABLE links (
    conversation TEXT PRIMARY KEY,
    session TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
