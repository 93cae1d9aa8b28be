-- Those who look after a registry and report to somebody: how far they have told.
CREATE TABLE monitors (
    -- To whom, such as `kanban t_3c9409ac`.
    desk     TEXT NOT NULL,
    registry TEXT NOT NULL,
    begun    INTEGER NOT NULL,
    -- The last entry of the journal that was told.
    told     INTEGER NOT NULL,
    -- What had been said there before it was begun: older words are not for us.
    heard    INTEGER NOT NULL,
    PRIMARY KEY (desk, registry)
) STRICT, WITHOUT ROWID;
