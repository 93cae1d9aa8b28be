//! The one place of the workspace that needs `unsafe`.
//!
//! While the agent is stopped, the runner is a background process that takes the terminal, and the
//! kernel would stop it with SIGTTOU for that. The signal must be *ignored*: a handler, which safe
//! crates can install, does not do.

/// Ignores SIGTTOU in this process. Only after the agent was started: what is ignored is inherited
/// by programs, and the agent shall find everything as a shell would leave it.
pub(super) fn terminal_output_signal() {
    // SAFETY: `signal` with SIG_IGN installs no handler and touches no memory of ours; it may be called
    // at any time from any thread.
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
    }
}
