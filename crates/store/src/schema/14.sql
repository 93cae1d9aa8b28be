-- Git worktrees of sessions. Paths are bytes: git and the kernel define no encoding.
CREATE TABLE worktrees (
    session    TEXT PRIMARY KEY,
    -- The session's name when it was started.
    name       TEXT NOT NULL,
    -- git's directory that all worktrees of the repository share.
    repository BLOB NOT NULL,
    -- The work tree that it was made from.
    home       BLOB NOT NULL,
    folder     BLOB NOT NULL,
    branch     TEXT NOT NULL,
    -- Whether the branch was made for it.
    owns_branch INTEGER NOT NULL,
    -- The branch that its work goes to, and the commit that it began at.
    target     TEXT,
    base       TEXT NOT NULL,
    -- making, ready, finishing, or how it was finished.
    stage      TEXT NOT NULL,
    -- JSON: how far finishing it has come.
    finishing  TEXT,
    -- The process that makes it.
    maker_pid  INTEGER NOT NULL,
    maker_start INTEGER NOT NULL,
    made       INTEGER NOT NULL,
    changed    INTEGER NOT NULL
) STRICT;
CREATE INDEX worktrees_by_name ON worktrees (name, made);

-- Numbers that living sessions have, such as ports.
CREATE TABLE allocated (
    value   INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    session TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- Files of projects that may run commands, with the hash of what was read when they were trusted.
CREATE TABLE trusted (
    path BLOB PRIMARY KEY,
    hash TEXT NOT NULL,
    at   INTEGER NOT NULL
) STRICT;
