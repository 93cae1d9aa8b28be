-- Which folder git made, whatever is at its path later; NULL for worktrees of versions that did not record it.
ALTER TABLE worktrees ADD COLUMN device INTEGER;
ALTER TABLE worktrees ADD COLUMN inode INTEGER;
