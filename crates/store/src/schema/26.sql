-- Ends of tmux servers that had sessions of ours: written by whoever sees one first, so that people are notified once.
CREATE TABLE server_ends (
    socket TEXT    NOT NULL,
    pid    INTEGER NOT NULL,
    start  INTEGER NOT NULL,
    -- When it died; NULL if it ended with its last session, which is no death.
    died   INTEGER,
    -- When the notification was written down.
    told   INTEGER,
    PRIMARY KEY (socket, pid, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX server_ends_untold ON server_ends (socket) WHERE died IS NOT NULL AND told IS NULL;

-- The death of its server, with which the session went.
ALTER TABLE sessions ADD COLUMN server_died INTEGER;
-- Whether it was seen at that moment.
ALTER TABLE sessions ADD COLUMN server_died_exact INTEGER;

-- What ended before this version is no news.
INSERT OR IGNORE INTO server_ends (socket, pid, start)
    SELECT socket, server_pid, server_start FROM sessions
    WHERE server_pid IS NOT NULL AND server_start IS NOT NULL
    GROUP BY socket, server_pid, server_start HAVING count(*) = count(over);

-- That the database was made though there were folders of sessions: the one before was deleted or moved away.
CREATE TABLE recoveries (
    at    INTEGER NOT NULL,
    -- Sessions that were registered again from their folders.
    found INTEGER NOT NULL
) STRICT;
