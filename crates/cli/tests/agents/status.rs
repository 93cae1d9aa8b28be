//! What dogwatch says that a real agent is doing, with all sources on: the state, its detail, and the source that decided.
//!
//! | case | claude | codex |
//! | --- | --- | --- |
//! | streaming, thinking, stalled for a minute, long tool, queued message | `working` | `working` |
//! | subagent | `working` | codex offers none |
//! | first turn, failed tool, retries | `working` | `working` |
//! | permission, question, plan, trust, login | `dialogs` | `dialogs` |
//! | 429, 529, 500, 400 too long, 401, refused | `failures` | `failures` |
//! | fresh, draft, finished, Esc, background shell, narrow pane, quotes | `rest` | `rest` |
//! | `/exit`, `kill -9`, tmux server killed, runner killed | `ends` | `ends` |
//! | a state file of a process that had the pid before | `ends` | codex has none |

mod dialogs;
mod ends;
mod failures;
mod rest;
mod working;
