-- What a person calls a session, and the tags on it. Agents that dogwatch did not start have a row too, by their ids.
CREATE TABLE labels (
    session  TEXT PRIMARY KEY,
    title    TEXT,
    -- In alphabetical order, with blanks between them.
    tags     TEXT NOT NULL DEFAULT '',
    changed  INTEGER NOT NULL
) STRICT;

-- When a session came back from the archive: lists show it for a while, however long ago it ended.
ALTER TABLE sessions ADD COLUMN unarchived INTEGER;
CREATE INDEX sessions_unarchived ON sessions (socket, unarchived) WHERE unarchived IS NOT NULL AND put_away IS NULL;
