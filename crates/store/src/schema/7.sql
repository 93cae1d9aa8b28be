-- Differences between a registry and what is there that were told of and have not gone away since.
CREATE TABLE told_drifts (
    registry TEXT NOT NULL,
    key      TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (registry, key)
) STRICT, WITHOUT ROWID;

-- When a person's command last changed a session of a registry: for a while nothing undoes it.
CREATE TABLE touches (
    registry TEXT NOT NULL,
    session  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (registry, session)
) STRICT, WITHOUT ROWID;
