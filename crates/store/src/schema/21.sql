-- Files that sessions have changed, by their hooks and by the difference of their worktree from its base.
CREATE TABLE edits (
    session    TEXT NOT NULL,
    -- The folder of the repository that its worktrees share; empty outside of git.
    repository BLOB NOT NULL,
    -- Below the work tree; outside of git absolute.
    path       BLOB NOT NULL,
    tree       BLOB NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, path, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX edits_of_session ON edits (session);

-- Two sessions that edit the same file, once for each pair and file.
CREATE TABLE collisions (
    -- The one that came second, and the one before.
    session    TEXT NOT NULL,
    other      TEXT NOT NULL,
    repository BLOB NOT NULL,
    path       BLOB NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, path, session, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX collisions_of_session ON collisions (session);

-- Loops that dogwatch has interrupted: one for each session and beginning of a loop.
CREATE TABLE interrupted_loops (
    session TEXT NOT NULL,
    began   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, began)
) STRICT, WITHOUT ROWID;
