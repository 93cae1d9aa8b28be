-- Runs of workflows: what each was to do when it began, and what happened since.
CREATE TABLE runs (
    id       TEXT PRIMARY KEY,
    project  TEXT NOT NULL,
    -- Name and text of the workflow, as it was then.
    workflow TEXT NOT NULL,
    definition TEXT NOT NULL,
    -- JSON: what is done for what, by whom.
    plan     TEXT NOT NULL,
    -- JSON: what whoever carries it out needs to know besides.
    settings TEXT NOT NULL,
    begun    INTEGER NOT NULL,
    -- When it was completed or aborted.
    over     INTEGER
) STRICT;
CREATE INDEX runs_by_project ON runs (project, begun);

CREATE TABLE run_facts (
    run      TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    -- JSON.
    fact     TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
