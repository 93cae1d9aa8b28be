-- Times are milliseconds since 1970, UTC.
CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    agent        TEXT NOT NULL,
    -- The project's root; what "this project's" means. Names and slugs may collide, this does not.
    project      TEXT NOT NULL,
    cwd          TEXT NOT NULL,
    step         TEXT,
    epic         TEXT,
    story        TEXT,
    cycle        TEXT,
    model        TEXT,
    conversation TEXT,
    -- The command line as a JSON list, without the prompt.
    command      TEXT NOT NULL,
    -- Path of the tmux server's socket.
    socket       TEXT NOT NULL,
    created      INTEGER NOT NULL,
    pane         TEXT,
    -- Pane ids start again with each server: the server's pid and start time go with them.
    server_pid   INTEGER,
    server_start INTEGER,
    started      INTEGER,
    -- Processes with their start times: a pid alone is given out again.
    runner_pid   INTEGER,
    runner_start INTEGER,
    agent_pid    INTEGER,
    agent_start  INTEGER,
    ended        INTEGER,
    -- The runner's exit record, JSON.
    ending       TEXT,
    -- When somebody ended it or cleaned it up on purpose: lists no longer show it.
    put_away     INTEGER
) STRICT;
CREATE INDEX sessions_by_place ON sessions (socket, put_away, name);

CREATE TABLE signals (
    id       INTEGER PRIMARY KEY,
    session  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    agent    TEXT NOT NULL,
    event    TEXT NOT NULL,
    payload  TEXT NOT NULL,
    -- Set for signals that came by way of the spool, so that none is taken in twice.
    spool_key TEXT UNIQUE
) STRICT;
CREATE INDEX signals_by_session ON signals (session, id);

-- The last statusline call of a session: proof of a live event loop, overwritten each time.
CREATE TABLE heartbeats (
    session  TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    payload  TEXT NOT NULL
) STRICT;

-- What a session looked like when last looked at, and when that last changed: the only way to see that
-- nothing moves.
CREATE TABLE looks (
    session  TEXT PRIMARY KEY,
    print    TEXT NOT NULL,
    moved    INTEGER NOT NULL
) STRICT;

-- What happened, in order; each entry is written in the transaction of the change that it tells of.
CREATE TABLE journal (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    session  TEXT NOT NULL,
    event    TEXT NOT NULL,
    data     TEXT NOT NULL
) STRICT;
CREATE INDEX journal_by_session ON journal (session, id);
