-- Notifications: each event once, and how far it has come on each channel.
CREATE TABLE notify_events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT UNIQUE,
    at INTEGER NOT NULL,
    session TEXT NOT NULL DEFAULT '',
    -- What of a session's status makes it this event; empty for others.
    detail TEXT NOT NULL DEFAULT '',
    notice TEXT NOT NULL
);
CREATE INDEX notify_events_of_session ON notify_events (session, number);
CREATE TABLE notify_deliveries (
    id INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    channel TEXT NOT NULL,
    label TEXT NOT NULL,
    state TEXT NOT NULL,
    due INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    -- It must still be true when it is sent.
    deferred INTEGER NOT NULL,
    unless_attached TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- A process is sending it, until then.
    lease INTEGER,
    tried INTEGER,
    because TEXT,
    UNIQUE (event, channel)
);
CREATE INDEX notify_deliveries_open ON notify_deliveries (channel, due) WHERE state = 'waiting';
