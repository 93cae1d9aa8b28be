-- All that most looks need of a signal, so that its row, with a payload of kilobytes, need not be read.
DROP INDEX signals_by_session;
CREATE INDEX signals_by_session ON signals (session, id, at, event, spool_key);
