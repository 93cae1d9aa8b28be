//! The judge: decisions of dogwatch as plain functions.
//!
//! Nothing in this crate opens a file, asks a clock, starts a process or talks to tmux. Facts come in as
//! values, decisions go out as values; time is an argument. That is what makes every rule of the
//! product a table that a test can check.
//!
//! | module | decides |
//! | --- | --- |
//! | [`name`] | what a session may be called, and what a story's session is called |
//! | [`agent_version`] | versions of agents, and what each can take |
//! | [`profile`] | what an agent is: launching, hooks, ending, transcript, as data |
//! | [`launch`] | the exact command line, environment and files of one session |
//! | [`record`] | what the runner writes down: started, ended |
//! | [`background`] | which state files are of sessions without a pane |
//! | [`liveness`] | whether a session lives, and how it ended, from all witnesses |
//! | [`runner`] | what the runner does next in the pane |
//! | [`id`] | ids that become the name of a file |
//! | [`process_tree`] | which processes belong to a session |
//! | [`server_death`] | whether a tmux server died, and which sessions went with it |
//! | [`shutdown`] | the next step in ending a session politely |
//! | [`set_aside`] | which request makes supervisors die, and is not tried a third time |
//! | [`startup`] | that an agent cannot take what it was given, and how it is started without |
//! | [`status`] | what an agent is doing, from all sources, with the reasons |
//! | [`screen`] | what an agent's screen shows, and what that means |
//! | [`label`] | what titles and tags of sessions may be |
//! | [`attention`] | which session needs a person first, and when a wait for several is over |
//! | [`event`] | what happened, as it is published |
//! | [`fleet`] | what hosts tell each other: topics, orders, the picture of all |
//! | [`briefing`] | the briefing of a new member of a team |
//! | [`roles`] | what a role in a team looks like |
//! | [`session_file`] | the Markdown file of a team, read and edited without disturbing it |
//! | [`registry`] | how the registry of sessions differs from what is there, and what to do about it |
//! | [`window`] | how the panes of a team share their window |
//! | [`escalation`] | when a person is asked, how grave it is, and what can be answered |
//! | [`job`] | how far a job has come, from evidence |
//! | [`interval`] | what is due every so often, whatever the clocks do |
//! | [`kanban`] | what the command line of Hermes Kanban says |
//! | [`notice`] | the text of notifications by bell, desktop, command or webhook |
//! | [`notify`] | which notification is sent where, and when |
//! | [`config`] | what the configuration file may say |
//! | [`workflow`] | what a run of agents is to do, what happened, and what is next |
//! | [`limits`] | what to do about a usage limit, and when |
//! | [`loops`] | whether an agent goes round in circles, from its transcript |
//! | [`collision`] | which files a tool call changes, and the report of two sessions that change the same one |
//! | [`search`] | what of conversations is searched, and how a question is asked |
//! | [`topic`] | what a conversation is about, and how full its context is |
//! | [`git_head`] | which branch git's files name |
//! | [`report`] | what a session did, and whether what its agent said of tests is borne out |
//! | [`since`] | when a period begins, as people write it |
//! | [`transcript`] | readable text from an agent's own transcript |
//! | [`usage`] | tokens and costs, from transcripts |
//! | [`web_address`] | the address of a webhook |
//! | [`handover`] | whether an environment on disk can still be taken |
//! | [`terminal`] | what of a text a terminal may see |
//! | [`mask`] | what others must not see of a recording |
//! | [`mcp`] | what an agent may do by MCP |
//! | [`callback`] | messages to an agent about work that it gave to another one |
//! | [`skill`] | which skill files dogwatch wrote |
//! | [`recording`] | what a recording is |

pub use dogwatch_protocol::{event, exit_code, notice, record};

pub mod agent_version;
pub mod answer;
pub mod attention;
pub mod background;
pub mod briefing;
pub mod callback;
mod codex_hooks;
pub mod collision;
pub mod config;
pub mod delivery;
pub mod escalation;
pub mod fleet;
pub mod git_head;
pub mod handover;
pub use dogwatch_protocol::id;
pub mod interval;
pub mod job;
pub mod kanban;
pub mod label;
pub mod launch;
pub mod limits;
pub mod liveness;
pub mod loops;
pub mod mask;
pub mod mcp;
pub mod name;
pub mod notify;
pub mod permissions;
pub mod process_tree;
pub mod profile;
pub mod recording;
pub mod registry;
pub mod report;
pub mod roles;
pub mod rules;
pub mod runner;
pub mod screen;
pub mod search;
pub mod server_death;
pub mod session_file;
pub mod set_aside;
pub mod shutdown;
pub mod since;
pub mod skill;
pub mod startup;
pub mod status;
pub mod step;
pub mod suggest;
pub mod superseded;
pub mod terminal;
mod text;
pub mod topic;
pub mod transcript;
pub mod usage;
pub mod web_address;
pub mod window;
pub mod workflow;
pub mod worktree;
