//! Talks to tmux. Knows nothing about agents.
//!
//! Theory of operation. There are two transports for the same typed [`Command`]s:
//!
//! - One-shot ([`Server::run`]): one `tmux` process for a whole chain of commands. A process costs
//!   about 2 ms whatever it does, so chaining saves time. The first error ends a chain.
//! - Control mode ([`control::Control`]): one attached client for a long watch. Requests are
//!   pipelined, every command has its own reply, and tmux sends notifications.
//!
//! ```no_run
//! use dogwatch_tmux::{Command, Server, SessionName, Socket, escape_format};
//!
//! let server = Server::new(Socket::Name("work".into()));
//! let name = SessionName::new("web")?;
//! let new = Command::new("new-session").flag('d').option('s', escape_format(name.as_str()));
//! let keep = Command::new("set-option").flag('w').target(&name).args(["remain-on-exit", "on"]);
//! server.run(&[new.args(["sh", "-c", "exit 3"]), keep])?;
//! for pane in server.panes()? {
//!     assert_eq!(pane.session_name, "web");
//! }
//! # Ok::<(), dogwatch_tmux::Error>(())
//! ```
//!
//! Both start `tmux` processes; one-shot ones through a [`Transport`], so that tests can use the `fake` instead.
//!
//! Three rules hold everywhere. A target is exact: a [`Target`] is an id or `=name:`, because tmux
//! matches a bare name as a prefix and would kill `web2` for `web`. Text from tmux is
//! bytes until the caller decides how to decode it: pane text and paths need not be UTF-8. And only an
//! [`Input`] writes to a pane: tmux itself looks first whether the pane has a process, because several versions
//! crash if it has none.

mod capture;
mod chain;
mod command;
mod connect_lock;
pub mod control;
mod diagnose;
mod error;
mod explain;
#[cfg(feature = "fake")]
pub mod fake;
mod faults;
mod ids;
mod input;
mod limbo;
mod name;
mod nonce;
mod oneshot;
mod pane_list;
mod process;
mod quote;
mod reply;
mod rows;
mod server;
mod signal;
mod socket;
mod target;
mod transport;
mod version;
mod window;

pub use capture::CaptureOptions;
pub use chain::fitting;
pub use command::{Command, escape_format};
pub use error::Error;
pub use faults::Fault;
pub use ids::{BadId, PaneId, SessionNo, WindowId};
pub use input::Input;
pub use name::{ANCHOR_PREFIX, BadName, SessionName};
pub use oneshot::Running;
pub use pane_list::{ListedPane, PaneList};
pub use reply::Reply;
pub use rows::{BadRow, PaneDetail, PaneFace, PaneRow, RowQuery};
pub use server::Server;
pub use socket::Socket;
pub use target::Target;
pub use transport::{Client, Output, Transport};
pub use version::Version;
pub use window::{PaneBox, WindowView};
