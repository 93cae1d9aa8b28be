//! The one place of the workspace that needs `unsafe`: what becomes of the two signals that the kernel
//! sends to those who use a terminal that is not theirs.

/// Gives both their usual effect back. tmux ignores them in all that it starts, and a program that
/// inherits this gets an I/O error, instead of being stopped for a moment, when it reads before it has the
/// terminal. Shells do the same for their jobs.
pub(super) fn stop_for_the_terminal() {
    set(libc::SIGTTIN, libc::SIG_DFL);
    set(libc::SIGTTOU, libc::SIG_DFL);
}

/// Ignores SIGTTOU in this process. While the agent is stopped, the runner is a background process that
/// takes the terminal, and the kernel would stop it for that; a handler, which safe crates can
/// install, does not do. Only after the agent was started: what is ignored is inherited by programs.
pub(super) fn take_terminal_freely() {
    set(libc::SIGTTOU, libc::SIG_IGN);
}

fn set(signal: libc::c_int, disposition: libc::sighandler_t) {
    // SAFETY: `signal` with SIG_DFL or SIG_IGN installs no handler and touches no memory of ours; it may
    // be called at any time from any thread.
    unsafe {
        libc::signal(signal, disposition);
    }
}
