-- Questions to people, kept until they are answered.
CREATE TABLE escalations (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    -- What whoever asks knows it by, so that after a crash nobody is asked twice.
    key      TEXT NOT NULL,
    -- JSON: what has come up.
    situation TEXT NOT NULL,
    kind     TEXT NOT NULL,
    -- JSON: what can be answered, as it was offered.
    options  TEXT NOT NULL,
    raised   INTEGER NOT NULL,
    -- When it is answered by its default, the number of an option.
    deadline INTEGER,
    default_option INTEGER,
    -- When people were told of it.
    told     INTEGER,
    settled  INTEGER,
    -- JSON: how.
    outcome  TEXT
) STRICT;
CREATE UNIQUE INDEX escalations_open ON escalations (key) WHERE settled IS NULL;
CREATE INDEX escalations_by_key ON escalations (key, number);

-- Work that was given to a session. The message that carries its prompt has the job's id.
CREATE TABLE jobs (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    session  TEXT NOT NULL,
    prompt   TEXT NOT NULL,
    submitted INTEGER NOT NULL,
    -- JSON: how far it has come, with what belongs to that.
    state    TEXT NOT NULL,
    delivered INTEGER,
    running  INTEGER,
    ended    INTEGER,
    -- What it waits for while it runs: a dialog.
    waiting  TEXT,
    -- JSON: who wants it cancelled, and when.
    cancel   TEXT
) STRICT;
CREATE INDEX jobs_by_session ON jobs (session, number);
CREATE INDEX jobs_open ON jobs (session) WHERE ended IS NULL;
