//! The interface of dogwatch: every JSON document that it prints or reads, as a type.
//!
//! Front ends fill these in and print them; none builds JSON by hand. The meaning of each field is defined here: the comments become
//! the descriptions in `docs/schemas`, which the test `schemas` writes. `docs/protocol.md` explains the same to people.
//!
//! Fields may be added. None is removed, or changes its meaning or place: scripts read them.
//!
//! | module | what |
//! | --- | --- |
//! | [`session`] | sessions: listed, started, captured, ended |
//! | [`status`] | what a session is doing, with the evidence |
//! | [`record`] | the runner's records: started, ended |
//! | [`message`] | messages to agents, and their outcome |
//! | [`job`] | jobs and their progress |
//! | [`escalation`] | questions to a person, and answers |
//! | [`run`] | runs of a workflow: plan, facts, report |
//! | [`screen`] | what one screen shows |
//! | [`bug_report`] | bug reports about a session |
//! | [`event`] | events: the journal, `dogwatch events`, MQTT |
//! | [`event_data`] | the data of each kind of event and notification |
//! | [`notice`] | notifications, as commands and webhooks get them |
//! | [`fleet`] | what hosts exchange over MQTT |
//! | [`team`] | teams: panes, tasks, members |
//! | [`registry`] | the registry and its drift |
//! | [`tools`] | what `doctor`, `agents`, `bug-report` and `monitor` print |
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
pub mod message;
pub mod notice;
pub mod record;
pub mod registry;
pub mod run;
pub mod screen;
pub mod session;
pub mod status;
pub mod team;
pub mod tools;
pub mod verification;
