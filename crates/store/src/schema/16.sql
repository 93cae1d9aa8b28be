-- Budgets that were used up: when that was reported, and when somebody lifted them.
CREATE TABLE budgets (
    key TEXT PRIMARY KEY,
    reported INTEGER NOT NULL,
    lifted INTEGER
) WITHOUT ROWID;
