//! What dogwatch remembers: one state directory, one database.
//!
//! - [`StateDir`]: where everything lives, and that only the owner can read it.
//! - [`SessionFolder`]: what a session's runner is given and what it writes down.
//! - [`ProjectFile`]: a file below a project, reached without following a link of the project's.
//! - [`edit_shared`]: a file that people edit too, and that nobody's save is lost from.
//! - [`RegistryFile`]: the registry of sessions in YAML, edited without disturbing what a person wrote into it.
//! - [`Store`]: SQLite for what the machine owns: sessions, signals, journal, outbox.
//! - [`Names`]: the same database for shell completions, opened for reading only.
//! - [`Mqtt`]: the broker that the configuration names, with its password.
//!
//! Any process may be killed at any instant and many may write at once: files are replaced
//! atomically or written in one piece, and rows change in transactions.

mod claims;
mod database;
mod error;
mod escalations;
mod files;
mod folder;
mod handover;
mod jobs;
mod journal;
mod leftovers;
mod local_broker;
mod log_index;
mod looks;
mod messages;
mod monitors;
mod mqtt;
mod names;
mod outbox;
mod project;
mod records;
mod registry;
mod regular;
mod replace;
mod requests;
mod runs;
mod sessions;
mod shared_file;
mod shrink;
mod signals;
mod state_dir;
mod states;

pub use claims::Claim;
pub use database::Store;
pub use error::StoreError;
pub use escalations::{
    Answering, DEADLINE, Escalation, NewAnswer, NewEscalation, Settled, Settlement,
};
pub use folder::{KeptScreen, SessionFolder};
pub use handover::{Handover, Pending};
pub use jobs::{Job, NewJob};
pub use journal::{Entry, MOST_ENTRIES, Range};
pub use local_broker::{LocalBroker, LocalBrokerError, USER as LOCAL_USER};
pub use looks::Look;
pub use messages::{Message, NewMessage};
pub use monitors::{Assignment, ToldDrift};
pub use mqtt::{Mqtt, MqttError, Route, Secret, Surroundings};
pub use names::{Candidate, Names};
pub use outbox::{Backlog, MOST_WAITING, Waiting};
pub use project::{LinkInProject, MOST_TEXT, ProjectFile, Readers, make_project_folder, tidy};
pub use records::keep_record;
pub use registry::{Act, RegistryFile};
pub use regular::{
    open_given, open_own, open_regular, read_limited, read_opened, read_regular, read_up_to,
};
pub use replace::{replace, replace_in_passing};
pub use requests::Taken;
pub use runs::{Appended, KeptRun, NewRun};
pub use sessions::{
    MOST_OVER, NewSession, SHOWN_FOR, Server, Session, Stage, TeamMembership, Wanted, Which,
};
pub use shared_file::{edit_shared, read_shared};
pub use signals::{Signal, SignalNo};
pub use state_dir::StateDir;
pub use states::{KeptState, StateNews};
