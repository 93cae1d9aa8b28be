//! The interface of dogwatch: every JSON document that it prints or reads, as a type.
//!
//! Front ends fill these in and print them; none builds JSON by hand. The meaning of each field is defined here: the comments become
//! the descriptions in `schemas.json`, which the test `schemas` writes and `dogwatch schema` prints. `docs/protocol.md` explains the same to people.
//!
//! Fields may be added. None is removed, or changes its meaning or place: scripts read them.
//!
//! | module | what |
//! | --- | --- |
//! | [`session`] | sessions: listed, started, captured, ended |
//! | [`status`] | what a session is doing, with the evidence |
//! | [`record`] | the runner's records: started, ended |
//! | [`limits`] | usage limits and what is done about them |
//! | [`message`] | messages to agents, and their outcome |
//! | [`job`] | jobs and their progress |
//! | [`escalation`] | questions to a person, and answers |
//! | [`rules`] | rules that answer requests for permission |
//! | [`run`] | runs of a workflow: plan, facts, report |
//! | [`screen`] | what one screen shows |
//! | [`bug_report`] | bug reports about a session |
//! | [`search`] | what `search` found |
//! | [`label`] | titles, tags and the archive |
//! | [`event`] | events: the journal, `dogwatch events`, MQTT |
//! | [`event_data`] | the data of each kind of event and notification |
//! | [`notice`] | notifications, as commands and webhooks get them |
//! | [`fleet`] | what hosts exchange over MQTT |
//! | [`mcp`] | what the tools of `dogwatch mcp` return |
//! | [`report`] | what sessions did in a period |
//! | [`stream`] | the lines of a supervisor's socket |
//! | [`supervisor`] | who supervises a tmux server |
//! | [`team`] | teams: panes, tasks, members |
//! | [`registry`] | the registry and its drift |
//! | [`tools`] | what `doctor`, `agents`, `bug-report` and `monitor` print |
//! | [`usage`] | tokens and costs |
//! | [`error`] | what is printed when a command fails |
//! | [`exit_code`] | exit codes |

pub mod bug_report;
pub mod error;
pub mod escalation;
pub mod event;
pub mod event_data;
pub mod exit_code;
pub mod fleet;
pub mod id;
pub mod job;
pub mod keys;
pub mod label;
pub mod limits;
pub mod mcp;
pub mod message;
pub mod notice;
pub mod record;
pub mod registry;
pub mod report;
pub mod rules;
pub mod run;
pub mod schemas;
pub mod screen;
pub mod search;
pub mod session;
pub mod status;
pub mod stream;
pub mod supervisor;
pub mod team;
pub mod tools;
pub mod usage;
pub mod verification;
pub mod worktree;
