//! What kinds of tool calls there are: what waits is no loop, and what changes something may make the same command tell
//! something else.

use super::input::Input;

/// What a call does, as far as can be told from its name and its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It waits for something that takes its time.
    Wait,
    /// It asks how something else is getting on: a server, a build somewhere, a process.
    Poll,
    /// It only looks.
    Look,
    /// It changes something, or may.
    Act,
}

impl Class {
    pub(super) fn may_change(self) -> bool {
        self == Self::Act
    }

    pub(super) fn of(tool: &str, input: &Input) -> Self {
        if input.writes_nothing || WAITS.contains(&tool) {
            return Self::Wait;
        }
        if LOOKS.contains(&tool) {
            return Self::Look;
        }
        match &input.command {
            Some(command) if input.edit.is_none() => of_command(command),
            _ => Self::Act,
        }
    }
}

/// Tools for lists of things to do.
pub(super) fn is_bookkeeping(tool: &str) -> bool {
    let tools = [
        "TodoWrite",
        "TodoRead",
        "TaskCreate",
        "TaskUpdate",
        "TaskList",
        "TaskGet",
        "update_plan",
        "write_todos",
        "todowrite",
        "ToolSearch",
    ];
    tools.contains(&tool)
}

/// Tools that bring what a command or agent in the background has said since, or wait for it.
const WAITS: [&str; 14] = [
    "BashOutput",
    "TaskOutput",
    "AgentOutputTool",
    "AgentOutput",
    "TaskStop",
    "KillShell",
    "Monitor",
    "wait",
    "wait_agent",
    "wait_for",
    "sleep",
    "Sleep",
    "ScheduleWakeup",
    "SendMessage",
];

const LOOKS: [&str; 22] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "LSP",
    "read_file",
    "read_many_files",
    "list_directory",
    "list_dir",
    "glob",
    "grep_search",
    "grep_files",
    "search_file_content",
    "google_web_search",
    "web_fetch",
    "view_image",
    "get_internal_docs",
    "ReadMcpResourceTool",
    "ListMcpResourcesTool",
];

/// Words of commands that wait.
const WAITING: [&str; 7] = ["sleep", "wait", "until", "while", "watch", "timeout", "inotifywait"];

/// Programs that ask how something else is getting on.
const POLLING: [&str; 30] = [
    "gh",
    "glab",
    "curl",
    "wget",
    "nc",
    "ping",
    "http",
    "kubectl",
    "docker",
    "podman",
    "ps",
    "pgrep",
    "jobs",
    "systemctl",
    "journalctl",
    "aws",
    "gcloud",
    "az",
    "squeue",
    "lsof",
    "ss",
    "netstat",
    "ssh",
    "tmux",
    "dogwatch",
    "pm2",
    "top",
    "uptime",
    "pg_isready",
    "redis-cli",
];

/// Programs that only look, unless their output goes to a file.
const READING: [&str; 37] = [
    "cat", "ls", "head", "tail", "less", "grep", "egrep", "rg", "find", "fd", "wc", "pwd", "echo",
    "printf", "stat", "file", "tree", "du", "df", "which", "type", "whoami", "date", "env", "sort",
    "uniq", "cut", "awk", "jq", "diff", "cmp", "nl", "column", "test", "[", "cd", "true",
];

fn of_command(command: &str) -> Class {
    let words = || command.split(|c: char| c.is_whitespace() || ";&|()".contains(c));
    if words().any(|word| WAITING.contains(&word)) {
        return Class::Wait;
    }
    let mut is_reading = !writes_a_file(command);
    let mut is_polling = false;
    for part in command.split(['|', ';', '&', '\n']) {
        let mut words = part.split_whitespace().skip_while(|word| word.contains('='));
        let Some(program) = words.next() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        let first = words.next().unwrap_or_default();
        is_polling |= POLLING.contains(&program);
        is_reading &= READING.contains(&program)
            || (program == "sed" && first == "-n")
            || (program == "git" && ["status", "diff", "log", "show", "blame"].contains(&first));
    }
    match (is_polling, is_reading) {
        (true, _) => Class::Poll,
        (_, true) => Class::Look,
        _ => Class::Act,
    }
}

/// `>` to anything but another stream or nowhere.
fn writes_a_file(command: &str) -> bool {
    let mut rest = command;
    while let Some((_, after)) = rest.split_once('>') {
        rest = after.trim_start_matches('>');
        let target = rest.trim_start();
        if !target.starts_with('&') && !target.starts_with("/dev/null") {
            return true;
        }
    }
    command.contains("tee ") || command.contains("-delete") || command.contains("-exec")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        for (command, class) in [
            ("cargo test", Class::Act),
            ("cargo test 2>&1 | tail -5", Class::Act),
            ("sleep 30 && gh run view 1", Class::Wait),
            ("until curl -s localhost:3000; do true; done", Class::Wait),
            ("timeout 60 make", Class::Wait),
            ("gh run view 12 --json status", Class::Poll),
            ("curl -s http://127.0.0.1:3000/health", Class::Poll),
            ("cat a.txt", Class::Look),
            ("cat a.txt 2>/dev/null | head -5", Class::Look),
            ("cat a > b", Class::Act),
            ("git status --short", Class::Look),
            ("git commit -m x", Class::Act),
            ("sed -n 1,20p a", Class::Look),
            ("sed -i s/a/b/ a", Class::Act),
            ("cd x && ls", Class::Look),
            ("find . -name x -delete", Class::Act),
            ("RUST_LOG=debug ./run", Class::Act),
            ("", Class::Look),
        ] {
            assert_eq!(of_command(command), class, "{command}");
        }
    }
}
