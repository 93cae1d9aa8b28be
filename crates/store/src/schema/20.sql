-- What to do when a session meets a usage limit, and whose limit that is.
CREATE TABLE limit_policies (
    session  TEXT PRIMARY KEY,
    -- Agent and folder, or the fingerprint of a key.
    account  TEXT NOT NULL,
    -- notify, wait, switch:MODEL, fallback:AGENT
    policy   TEXT NOT NULL,
    -- As configured when the session was started: what the agent is told, and seconds to wait where it gave no time.
    message  TEXT NOT NULL,
    retry_after INTEGER NOT NULL,
    changed  INTEGER NOT NULL
) STRICT;
CREATE INDEX limit_policies_by_account ON limit_policies (account);

-- Usage limits that were met, and what was done about each. A row is settled by one process, once.
CREATE TABLE limits (
    id       INTEGER PRIMARY KEY,
    session  TEXT NOT NULL,
    account  TEXT NOT NULL,
    began    INTEGER NOT NULL,
    -- When it ends, by what the agent said.
    until    INTEGER,
    -- When to act.
    due      INTEGER NOT NULL,
    -- The agent said so, not only its screen.
    told     INTEGER NOT NULL,
    text     TEXT NOT NULL,
    -- armed, acting, continued, switched, fell_back, left, failed, asked
    state    TEXT NOT NULL,
    because  TEXT,
    -- The message that continues it, or the session that was started instead.
    message  TEXT,
    settled  INTEGER,
    -- A turn has ended well since.
    over     INTEGER,
    UNIQUE (session, began)
) STRICT;
CREATE INDEX limits_open ON limits (session) WHERE settled IS NULL;
CREATE INDEX limits_by_account ON limits (account, until);
