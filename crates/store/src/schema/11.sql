-- When a session was over: at its end, or at the first look that found it lost. Lists read what lives and what was over lately, and
-- none of the rest, however many there are.
ALTER TABLE sessions ADD COLUMN over INTEGER;
UPDATE sessions SET over = ended;
CREATE INDEX sessions_by_over ON sessions (socket, put_away, over);
CREATE INDEX sessions_in_teams ON sessions (socket) WHERE role IS NOT NULL AND put_away IS NULL;
CREATE INDEX sessions_by_pane ON sessions (socket, pane) WHERE put_away IS NULL;
