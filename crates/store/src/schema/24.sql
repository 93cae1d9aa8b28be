-- Why a message is not delivered yet, as the supervisor saw it last.
ALTER TABLE messages ADD COLUMN held TEXT;
