-- Events carry an id by which they are known again wherever they are told, and say whom they are about even if nothing else
-- is left of that session. Ids of earlier entries are made up from their times.
ALTER TABLE journal ADD COLUMN uuid TEXT;
ALTER TABLE journal ADD COLUMN name TEXT;
ALTER TABLE journal ADD COLUMN agent TEXT;
UPDATE journal SET
    uuid = printf('%08x-%04x-7%.3s-8%.3s-%s', at >> 16, at & 65535,
        lower(hex(randomblob(2))), lower(hex(randomblob(2))), lower(hex(randomblob(6)))),
    name = (SELECT name FROM sessions WHERE sessions.id = journal.session),
    agent = (SELECT agent FROM sessions WHERE sessions.id = journal.session);
UPDATE journal SET event = 'deleted' WHERE event = 'put_away';

-- Events that a broker has not confirmed yet, in order. Written only while there is somebody who relays them.
CREATE TABLE outbox (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT NOT NULL,
    -- JSON, as it will be told, but for the host.
    event   TEXT NOT NULL
) STRICT;

-- One row if events are to be relayed: since when, and how many were given up because the broker was away for too long.
CREATE TABLE relay (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    since   INTEGER NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Orders of other hosts, so that none is carried out twice.
CREATE TABLE requests (
    id      TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    verb    TEXT NOT NULL,
    -- The last reply, JSON; without one it is under way, or was cut short.
    reply   TEXT
) STRICT;
