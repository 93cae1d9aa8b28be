//! The commands that a command runs in turn: behind `sudo`, in `sh -c '…'`, after `find -exec`.
//!
//! For what must not be run, where a command too many does no harm. The words are passed over once, however they are nested.

use super::pattern::CommandPattern;
use super::shell::{self, Words};

/// Programs that run the command in their arguments.
const WRAPPERS: [&str; 72] = [
    "-",
    "arch",
    "bubblewrap",
    "builtin",
    "bunx",
    "busybox",
    "bwrap",
    "caffeinate",
    "catchsegv",
    "chroot",
    "chrt",
    "command",
    "dbus-run-session",
    "direnv",
    "doas",
    "eatmydata",
    "entr",
    "env",
    "exec",
    "fakeroot",
    "faketime",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "gtimeout",
    "hyperfine",
    "ionice",
    "linux32",
    "linux64",
    "ltrace",
    "mise",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "npx",
    "nsenter",
    "numactl",
    "perf",
    "pkexec",
    "poetry",
    "prlimit",
    "proxychains",
    "proxychains4",
    "repeat",
    "run0",
    "rustup",
    "screen",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "softlimit",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "torsocks",
    "toybox",
    "unbuffer",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "xargs",
    "xvfb-run",
];
/// Programs that read their arguments as lines for a shell: `eval 'rm x'`, `watch 'rm x'`.
const SCRIPTED: [&str; 12] = [
    "eval",
    "flock",
    "nix-shell",
    "parallel",
    "runuser",
    "script",
    "sg",
    "ssh",
    "su",
    "tmux",
    "trap",
    "watch",
];
/// Shells: `sh -c 'rm x'`. Without a script they read one from their input.
const SHELLS: [&str; 14] = [
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "rbash", "sh", "tcsh",
    "yash", "zsh",
];
/// Programs that add words from their input to the command.
const FED: [&str; 2] = ["parallel", "xargs"];
const FOLDER_CHANGERS: [&str; 4] = ["cd", "chdir", "popd", "pushd"];
/// How deep scripts in scripts are read.
const DEEPEST: usize = 4;

/// What a command runs.
pub(super) struct Inside {
    commands: Vec<Part>,
    /// It may run more than its words say.
    pub(super) is_uncertain: bool,
}

/// A command; of one that runs another, each word may begin that one.
struct Part {
    words: Words,
    wraps: bool,
}

/// The name of a program, without its folder.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

impl Inside {
    pub(super) fn of(command: &[String]) -> Self {
        let mut inside = Self { commands: vec![], is_uncertain: false };
        inside.take(command.to_vec(), false, DEEPEST);
        inside
    }

    /// Whether the command, or one that it runs, fits: by any path of the program.
    pub(super) fn fits(&self, pattern: &CommandPattern) -> bool {
        self.commands.iter().any(|part| part.fits(pattern))
    }

    pub(super) fn changes_folder(&self) -> bool {
        let changes = |word: &String| FOLDER_CHANGERS.contains(&name(word));
        self.commands.iter().any(|part| part.programs().iter().any(changes))
    }

    /// Whether it gives a patch to codex, which applies it itself.
    pub(super) fn applies_patch(&self) -> bool {
        let applies = |word: &String| matches!(name(word), "apply_patch" | "applypatch");
        self.commands.iter().any(|part| part.programs().iter().any(applies))
    }

    fn take(&mut self, words: Words, is_wrapped: bool, deepest: usize) {
        let Some(program) = words.first().map(|word| name(word)) else { return };
        // It only says where a program is.
        let looks_up =
            program == "command" && words.iter().any(|word| word == "-v" || word == "-V");
        let wraps = is_wrapped
            || !looks_up
                && (WRAPPERS.contains(&program)
                    || SCRIPTED.contains(&program)
                    || SHELLS.contains(&program));
        let part = Part { words, wraps };
        let programs = part.programs();
        let is = |known: &[&str], word: &String| known.contains(&name(word));
        self.is_uncertain |= programs.iter().any(|word| is(&FED, word)) || splits_words(programs);
        let first = programs.iter().position(|word| is(&SCRIPTED, word) || is(&SHELLS, word));
        if let Some(first) = first {
            let scripts = part.words[first + 1..].to_vec();
            self.is_uncertain |= is(&SHELLS, &part.words[first]) && reads_its_input(&scripts);
            self.take_scripts(&scripts, deepest);
        }
        self.commands.push(part);
    }

    fn take_scripts(&mut self, scripts: &[String], deepest: usize) {
        // A plain word is no script, and as a command it was seen already.
        let is_plain = |text: &String| {
            text.chars().all(|c| {
                c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | ',')
            })
        };
        if scripts.iter().all(is_plain) {
            return;
        }
        let Some(deepest) = deepest.checked_sub(1) else {
            self.is_uncertain = true;
            return;
        };
        let each = scripts.iter().filter(|text| !is_plain(text)).map(|text| (text.clone(), false));
        // `eval git 'push; x'`
        let joined = (scripts.len() > 1).then(|| (scripts.join(" "), true));
        for (script, is_wrapped) in each.chain(joined) {
            match shell::commands(&script) {
                Ok(commands) => {
                    for command in commands {
                        self.take(command, is_wrapped, deepest);
                    }
                }
                Err(_) => self.is_uncertain = true,
            }
        }
    }
}

impl Part {
    /// The words that may be a program.
    fn programs(&self) -> &[String] {
        if self.wraps { &self.words } else { &self.words[..self.words.len().min(1)] }
    }

    fn fits(&self, pattern: &CommandPattern) -> bool {
        let fits = |words: &[String]| {
            pattern.fits(words)
                || words
                    .split_first()
                    .is_some_and(|(program, rest)| pattern.fits_program(name(program), rest))
        };
        // `find . -exec rm x ;` ends a command before the end of the line.
        let mut end = self.words.len();
        for at in (0..self.programs().len()).rev() {
            if matches!(self.words[at].as_str(), ";" | "+") {
                end = at;
            }
            if fits(&self.words[at..]) || (end > at && fits(&self.words[at..end])) {
                return true;
            }
        }
        false
    }
}

/// `env -S 'a b'` takes its words apart by rules of its own, and `sudo -s` gives them to a shell.
fn splits_words(programs: &[String]) -> bool {
    let has = |known: &[&str]| programs.iter().any(|word| known.contains(&name(word)));
    if has(&["sudo", "doas"]) && has(&["-s", "-i", "--shell", "--login"]) {
        return true;
    }
    let splits = |word: &String| {
        word.starts_with("--split-string")
            || word.starts_with('-') && !word.starts_with("--") && word.contains('S')
    };
    has(&["env"]) && programs.iter().any(splits)
}

/// No script is named, or `-s` says that there is none.
fn reads_its_input(words: &[String]) -> bool {
    words.iter().all(|word| word.starts_with(['-', '+'])) || words.iter().any(|word| word == "-s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(line: &str) -> Inside {
        let commands = shell::commands(line).unwrap();
        assert_eq!(commands.len(), 1, "{line}");
        Inside::of(&commands[0])
    }

    #[test]
    fn commands_within_others() {
        let push = CommandPattern::parse("git push *").unwrap();
        for line in [
            "git push",
            "/usr/bin/git push origin",
            "sudo git push",
            "sudo -u root git push",
            "env A=1 nice -n 5 git push",
            "/usr/bin/time git push",
            "/usr/bin/time -f x git push",
            "xargs git push",
            "bash -lc 'git push'",
            "bash -c 'true; git push'",
            "bash -c \"sudo sh -c 'git push x'\"",
            "eval 'git push'",
            "eval git push",
            "eval git 'push; ls'",
            "find . -exec git push \\;",
            "find . -exec git push + -print",
            "flock /tmp/x git push",
            "flock /tmp/x -c 'git push'",
            "watch git push",
            "watch -n 5 'git push'",
            "parallel git push ::: a",
            "su root -c 'git push'",
            "busybox sh -c 'git push'",
            "noglob git push",
            "repeat 3 git push",
            "ssh host 'git push'",
            "trap 'git push' EXIT",
            "command git push",
        ] {
            assert!(inside(line).fits(&push), "{line}");
        }
        let exact = CommandPattern::parse("git push").unwrap();
        assert!(inside("find . -exec git push \\; -print").fits(&exact));
        for line in ["echo git push", "git -v", "grep -r 'git push'", "sh ./git push.sh"] {
            let found = inside(line);
            assert!(!found.fits(&push) && !found.is_uncertain, "{line}");
        }
    }

    #[test]
    fn what_may_run_more_than_it_says() {
        for line in [
            "sh -c 'git push $B'",
            "sh -c 'git $(echo push)'",
            "eval 'git push $B'",
            "eval 'A=1 git push'",
            "sudo bash -c 'x > y'",
            "env -S 'git push'",
            "env '-Sgit push'",
            "sudo -s 'git push'",
            "xargs git",
            "sh",
            "sudo bash",
            "bash -s x",
            "bash -c \"bash -c \\\"bash -c \\\\\\\"bash -c \\\\\\\\\\\\\\\"bash -c 'a b'\\\\\\\\\\\\\\\"\\\\\\\"\\\"\"",
        ] {
            assert!(inside(line).is_uncertain, "{line}");
        }
        for line in [
            "sh script.sh a",
            "bash -c 'cargo test && ls'",
            "cargo test 'a $b'",
            "command -v bash",
            "sudo make install",
        ] {
            assert!(!inside(line).is_uncertain, "{line}");
        }
    }

    #[test]
    fn folders_and_patches() {
        for line in ["cd x", "pushd x", "builtin cd x", "sh -c 'cd x; make'"] {
            assert!(inside(line).changes_folder(), "{line}");
        }
        assert!(!inside("make cd").changes_folder());
        assert!(inside("apply_patch 'a b'").applies_patch());
    }

    #[test]
    fn ten_thousand_words() {
        let push = CommandPattern::parse("git push *").unwrap();
        for program in ["env", "sudo", "sh", "eval", "find", "xargs"] {
            let mut words = vec![program.to_owned(); 10_000];
            assert!(!Inside::of(&words).fits(&push), "{program}");
            words.extend(["git".to_owned(), "push".to_owned()]);
            assert!(Inside::of(&words).fits(&push), "{program}");
            let nested = vec![format!("{program} 'a b' c"); 10_000];
            let words: Vec<String> = std::iter::once("eval".to_owned()).chain(nested).collect();
            assert!(!Inside::of(&words).fits(&push), "{program}");
        }
    }
}
