-- Automatisms that the user has stopped.
CREATE TABLE pauses (
    what   TEXT PRIMARY KEY,
    since  INTEGER NOT NULL
) STRICT;
-- Requests for permission, which are few among signals, for `rules rehearse`.
CREATE INDEX signals_permission ON signals (id) WHERE event IN ('PermissionRequest', 'PermissionAnswered');
-- Answers that rules gave, which are few in the journal.
CREATE INDEX journal_rules ON journal (session, id) WHERE event = 'rules_answered';
