//! dogwatch's state: one directory, one database.
//!
//! - [`StateDir`]: the state directory, readable only for its owner.
//! - [`SessionFolder`]: the input of a session's runner, and its records.
//! - [`ProjectFile`]: a file below a project, opened without following links of the project.
//! - [`edit_shared`]: edits a file that people edit too, without losing their changes.
//! - [`RegistryFile`]: the registry in YAML, edited without disturbing a person's text and comments.
//! - [`Store`]: SQLite with sessions, signals, journal and outbox.
//! - [`UsageCache`]: a database of its own with the tokens that were read from transcripts.
//! - [`Names`]: the same database for shell completions, read-only.
//! - [`Mqtt`]: the configured broker with its password.
//!
//! Any process may be killed at any moment, and many may write at the same time: files are replaced
//! atomically or written in one call, and rows change in transactions.

mod binaries;
mod budgets;
mod callbacks;
mod claims;
mod database;
mod edits;
mod error;
mod escalations;
mod files;
mod folder;
mod handover;
mod jobs;
mod journal;
mod key_requests;
mod labels;
mod leftovers;
mod limits;
mod local_broker;
pub mod lock_file;
mod log_index;
mod looked_at;
mod looks;
mod messages;
mod monitors;
mod mqtt;
mod names;
mod notify;
mod opencode;
mod outbox;
mod project;
mod records;
mod recovery;
mod registry;
mod regular;
mod replace;
mod requests;
mod rules;
mod runs;
mod search;
mod server_ends;
mod sessions;
mod shared_file;
mod shrink;
mod signals;
mod state_dir;
mod states;
mod topics;
mod usage;
mod worktrees;

pub use binaries::{KnownBinary, stamp};
pub use callbacks::{Callback, CallbackNews, NewCallback};
pub use claims::Claim;
pub use database::Store;
pub use edits::{CollisionNews, EditedFile, KeptCollision, OthersEdit};
pub use error::StoreError;
pub use escalations::{
    Answering, DEADLINE, Escalation, NewAnswer, NewEscalation, Settled, Settlement,
};
pub use folder::{KeptScreen, SessionFolder};
pub use handover::{Handover, Pending};
pub use jobs::{Job, NewJob};
pub use journal::{Entry, MOST_ENTRIES, Range};
pub use key_requests::{Begun, PostedKeys};
pub use labels::Labels;
pub use limits::{Limit, LimitPolicy, NewLimit};
pub use local_broker::{LocalBroker, LocalBrokerError, USER as LOCAL_USER};
pub use looks::Look;
pub use messages::{Message, NOBODY, NewMessage};
pub use monitors::{Assignment, JournalDrift};
pub use mqtt::{Mqtt, MqttError, Route, Secret, Surroundings};
pub use names::{Candidate, Names};
pub use notify::{ChannelHealth, DeliveryOutcome, NotifyEvent, NotifyWhat, TakenDelivery};
pub use opencode::{
    OpencodeConversation, OpencodeSession, opencode_conversations, opencode_sessions,
    opencode_texts,
};
pub use outbox::{Backlog, MOST_WAITING, Waiting};
pub use project::{
    Allowance, Identity, LinkInProject, MOST_TEXT, OwnFolder, ProjectFile, Provided, Readers,
    copy_beneath, link_beneath, make_project_folder, remove_beneath, tidy,
};
pub use records::keep_record;
pub use registry::{Act, RegistryFile};
pub use regular::{
    open_given, open_own, open_regular, read_limited, read_opened, read_part, read_regular,
    read_up_to,
};
pub use replace::{replace, replace_in_passing};
pub use requests::Taken;
pub use rules::{PermissionRequest, Requests};
pub use runs::{Appended, KeptRun, NewRun};
pub use search::{Addition, Doc, Found, Question, SearchIndex, Source as SearchSource};
pub use sessions::{
    MOST_OVER, NewSession, SHOWN_FOR, Server, Session, Stage, TeamMembership, Wanted, Which,
};
pub use shared_file::{edit_shared, read_shared};
pub use signals::{Signal, SignalNo};
pub use state_dir::StateDir;
pub use states::{KeptState, StateNews};
pub use topics::KeptTopic;
pub use usage::{KnownFile, KnownThread, OpencodeDatabase, OpencodeRow, ReadFile, UsageCache};
pub use worktrees::{Finishing, Worktree, WorktreeStage};
