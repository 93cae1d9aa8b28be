//! The real agents, started, prompted, finished and ended by dogwatch, against the model double.
//!
//! `lab/agents/install` puts the pinned versions into the cache folder; where they are missing the tests say so
//! and pass, unless `DOGWATCH_REQUIRE_AGENTS` is set, as `./test` does, which installs claude and codex.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod lab;
mod limits;

mod agents_verify;
mod answer;
mod builds;
mod collisions;
mod dashboard;
mod ending;
mod hooks;
mod job;
mod kanban;
mod loops;
mod mcp;
mod notify;
mod notify_events;
mod opencode;
mod permissions;
mod prompts;
mod queue;
mod record;
mod registry;
mod report;
mod rules;
mod send;
mod skill;
mod status;
mod stop_hooks;
mod stories;
mod story_automator;
mod supervise;
mod team;
mod titles;
mod turns;
mod usage;
mod verdict;
mod versions;
mod watch;
mod worktree;
