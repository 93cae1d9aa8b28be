-- What a session's keys are to be pressed for: an answer to its dialog, the end of its turn. Stored before a key is pressed, and the
-- outcome after it. The supervisor alone presses keys.
CREATE TABLE key_requests (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Chosen by whoever asks: the same one is done once.
    id      TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    -- JSON
    request TEXT NOT NULL,
    posted  INTEGER NOT NULL,
    -- From then on keys may have been pressed.
    begun   INTEGER,
    -- The mark of the dialog that was open then.
    dialog  TEXT,
    -- JSON
    outcome TEXT,
    done    INTEGER
) STRICT;
CREATE INDEX key_requests_open ON key_requests (session) WHERE outcome IS NULL;

-- When the keys that interrupt a loop were pressed; NULL of one that a killed supervisor left behind.
ALTER TABLE interrupted_loops ADD COLUMN pressed INTEGER;
UPDATE interrupted_loops SET pressed = at;
