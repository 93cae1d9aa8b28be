-- The state that each session was last seen in: what came before, and since when.
CREATE TABLE states (
    session  TEXT PRIMARY KEY,
    -- What makes two verdicts the same state; the rest of a verdict may change without that being news.
    key      TEXT NOT NULL,
    since    INTEGER NOT NULL,
    -- When it was last looked at with another result than before.
    seen     INTEGER NOT NULL,
    -- The state with what belongs to it, JSON.
    status   TEXT NOT NULL
) STRICT;
