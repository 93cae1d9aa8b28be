//! The one place of the workspace that needs `unsafe`, for what the kernel is asked beside files and processes: what becomes of the two signals that it
//! sends to those who use a terminal that is not theirs, and to let go of code that is not used.

#[cfg(target_os = "linux")]
use dogwatch_base::log::LoggedIo as _;

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

/// Lets the kernel take back the pages with our own code. They are read from the program's file again when they are needed, which takes
/// microseconds. A runner that waits needs few of them, and each one that it has used since its start would count as its memory (12 of 15
/// MB, release build of November 2026).
#[cfg(target_os = "linux")]
pub(super) fn let_go_of_code() {
    let maps = std::fs::File::open("/proc/self/maps")
        .and_then(|file| dogwatch_store::read_up_to(file, 1 << 20))
        .logged_unless_missing("read which memory is used");
    let own = std::env::current_exe().logged_unless_missing("find the own program");
    let (Some(maps), Some(own)) = (maps, own) else { return };
    for (begin, end) in code_of(&String::from_utf8_lossy(&maps), &own.to_string_lossy()) {
        // SAFETY: the range is mapped from the program's file, for reading and executing only, so that nothing in it was ever written; the
        // kernel reads the same bytes from the file again at the next access. The file cannot be written to while it runs (ETXTBSY),
        // and the kernel may take such pages at any time without being asked.
        unsafe {
            libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn let_go_of_code() {}

/// The ranges of memory that have the code of this program.
#[cfg(target_os = "linux")]
fn code_of(maps: &str, program: &str) -> Vec<(usize, usize)> {
    let range = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let is_code = rest.starts_with("r-xp ") && rest.ends_with(&format!(" {program}"));
        let (begin, end) = range.split_once('-').filter(|_| is_code)?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some((number(begin)?, number(end)?)).filter(|(begin, end)| begin < end)
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program() {
        let maps = "7f00-7f10 r--p 00000000 fe:00 1  /bin/dogwatch\n\
                    7f10-7f30 r-xp 00010000 fe:00 1  /bin/dogwatch\n\
                    7f30-7f40 rw-p 00030000 fe:00 1  /bin/dogwatch\n\
                    8000-8010 r-xp 00000000 fe:00 2  /lib/libc.so\n\
                    9000-9010 r-xp 00000000 00:00 0  [vdso]\nx\n";
        assert_eq!(code_of(maps, "/bin/dogwatch"), [(0x7f10, 0x7f30)]);
        assert_eq!(code_of(maps, "dogwatch"), []);
        // The code that does this goes on.
        let_go_of_code();
    }
}
