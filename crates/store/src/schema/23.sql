-- What was seen of the agent when a message was put into its input box (JSON): the state, how sure, and whether it worked.
ALTER TABLE messages ADD COLUMN seen TEXT;
