//! The interface of dogwatch: every JSON shape that it prints or reads, as a type.
//!
//! Front ends fill these in and print them; no front end builds JSON by hand. What a field means is said here once: the comments become the
//! descriptions in `docs/schemas`, which the test `schemas` writes. `docs/protocol.md` has the same for people.
//!
//! Fields may be added. None goes away or changes its meaning or its place: scripts read them.
//!
//! | module | what |
//! | --- | --- |
//! | [`session`] | sessions: listed, started, captured, ended |
//! | [`status`] | what a session is doing, with the reasons |
//! | [`record`] | what the runner writes down: started, ended |
//! | [`message`] | messages to agents, and their outcome |
//! | [`job`] | jobs, and how far they have come |
//! | [`escalation`] | questions to a person, and answers |
//! | [`run`] | runs of a workflow: plan, facts, report |
//! | [`screen`] | what one screen says |
//! | [`bug_report`] | what is recorded of a session |
//! | [`event`] | what happened: the journal, `dogwatch events`, MQTT |
//! | [`event_data`] | what belongs to each kind of event and notice |
//! | [`notice`] | notifications, as commands and webhooks get them |
//! | [`fleet`] | what hosts tell each other over MQTT |
//! | [`team`] | teams: panes, tasks, members |
//! | [`registry`] | the registry, and differences from it |
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
