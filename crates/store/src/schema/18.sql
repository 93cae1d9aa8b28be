-- When a person last looked at a session in the dashboard: an idle session is shown as new until then.
CREATE TABLE looked_at (
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
