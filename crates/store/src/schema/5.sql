-- The place of a session in a team: what it does there, the pane that leads the window, the pane that started it and
-- is told of what it has done, and the file that the team writes to.
ALTER TABLE sessions ADD COLUMN role TEXT;
ALTER TABLE sessions ADD COLUMN master TEXT;
ALTER TABLE sessions ADD COLUMN spawner TEXT;
ALTER TABLE sessions ADD COLUMN session_file TEXT;

-- Tasks that agents are at or have done. The session file says so too, but people save older texts over it.
CREATE TABLE claims (
    file         TEXT NOT NULL,
    task         INTEGER NOT NULL,
    pane         TEXT NOT NULL,
    server_pid   INTEGER NOT NULL,
    server_start INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    -- When it was done, or given back.
    over         INTEGER,
    PRIMARY KEY (file, task)
) STRICT;
