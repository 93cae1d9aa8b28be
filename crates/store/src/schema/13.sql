-- What transcripts told of conversations: titles, first prompts, the size of the context. A cache: it may be removed at any time.
CREATE TABLE topics (
    session  TEXT PRIMARY KEY,
    -- Path of the transcript, and how far it was read.
    path     TEXT NOT NULL,
    read_to  INTEGER NOT NULL,
    -- JSON.
    topic    TEXT NOT NULL,
    seen     INTEGER NOT NULL
) STRICT;
