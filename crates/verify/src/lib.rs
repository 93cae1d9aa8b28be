//! The laboratory for everybody: runs an agent's own program in known situations, and grades what `status` says about them.
//!
//! - [`truth`]: what is true in a situation, and the grade of a verdict; values in, values out;
//! - [`agent`]: what differs between agents: keys, arguments, where their prompt is;
//! - [`plays`]: the situations, in the order in which one session goes through them;
//! - [`player`]: carries a play out. What is true is known from the model double (it knows what it was asked, and holds its answer
//!   at a gate) and from files and processes, never from `status`;
//! - [`world`]: one private home, state directory, tmux server and model double for each play;
//! - [`laboratory`]: all plays, side by side, in a process that has nothing of the user's environment;
//! - [`verify`](mod@verify): starts that process, keeps its result.

pub mod agent;
pub mod laboratory;
pub mod matrix;
mod outcome;
mod player;
pub mod plays;
pub mod truth;
pub mod verify;
mod world;

pub use laboratory::Task;
pub use verify::{Request, verify};
