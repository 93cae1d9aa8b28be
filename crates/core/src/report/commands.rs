//! Test and build runs in a shell command, and what its exit code tells of them.

pub use super::programs::Kind;
use super::programs::{self, Program};
use super::shell::{self, Pipeline, Then};

/// How deep `bash -c` inside of `bash -c` is followed.
const DEEPEST: usize = 3;
/// A longer command is not taken apart.
const LONGEST: usize = 64 * 1024;

/// Why the exit code of a command does not tell how a run in it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hidden {
    /// `cargo test | tail`: the exit code is that of the last program.
    Pipe,
    /// `cargo test; echo done`: another command ran after it.
    Later,
    /// `cargo test || true`: another command ran instead.
    Fallback,
    /// `cargo test &`
    Background,
    /// `cargo build && cargo test`: what ran before it may be what failed.
    Earlier,
    /// A loop, a condition, or a command that cannot be taken apart.
    Construct,
}

impl Hidden {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "a pipe hides the exit code",
            Self::Later => "a later command hides the exit code",
            Self::Fallback => "a fallback hides the exit code",
            Self::Background => "it ran in the background",
            Self::Earlier => "an earlier command may be what failed",
            Self::Construct => "a shell construct hides the exit code",
        }
    }
}

/// A run of tests, or a build, in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub kind: Kind,
    /// Programs of one family run the same tests.
    pub family: &'static str,
    /// Not all tests: a filter, a package, a file.
    pub is_narrow: bool,
    /// What hides how it ended if the command exits with 0, and if it exits with anything else.
    pub zero: Result<(), Hidden>,
    pub other: Result<(), Hidden>,
}

impl Run {
    /// Whether it passed, by the exit code of the command.
    pub fn passed(&self, code: i32) -> Result<bool, Hidden> {
        if code == 0 { self.zero.map(|()| true) } else { self.other.map(|()| false) }
    }
}

/// The runs in a command.
pub fn runs(command: &str) -> Vec<Run> {
    if command.len() > LONGEST { Vec::new() } else { runs_in(command, false, DEEPEST) }
}

fn runs_in(command: &str, pipefail: bool, deepest: usize) -> Vec<Run> {
    let Some(pipelines) = shell::pipelines(command) else {
        return unreadable(command);
    };
    let mut settings = Settings { pipefail, ..Settings::default() };
    let mut found = Vec::new();
    let mut is_construct = false;
    for (number, pipeline) in pipelines.iter().enumerate() {
        let first = pipeline.stages[0].first().map(String::as_str).unwrap_or_default();
        is_construct |= matches!(
            first,
            "if" | "for" | "while" | "until" | "case" | "function" | "!" | "select" | "[["
        ) || first.ends_with("()");
        settings.take_in(&pipeline.stages[0]);
        let is_alternative = number > 0 && pipelines[number - 1].then == Then::Or;
        for (stage, words) in pipeline.stages.iter().enumerate() {
            for mut run in runs_of(words, settings.pipefail, deepest) {
                let is_piped = stage + 1 < pipeline.stages.len();
                if is_piped {
                    pipe(&mut run, &pipeline.stages[stage + 1..], settings.pipefail);
                }
                after(&mut run, &pipelines[number..], settings.stops);
                if is_construct || is_alternative {
                    hide(&mut run, Hidden::Construct);
                }
                before(&mut run, &pipelines[..number], settings.stops);
                found.push(run);
            }
        }
    }
    found
}

/// Options that the shell was given.
#[derive(Debug, Clone, Copy, Default)]
struct Settings {
    pipefail: bool,
    /// `set -e`
    stops: bool,
}

impl Settings {
    fn take_in(&mut self, words: &[String]) {
        if words.first().is_none_or(|word| word != "set") {
            return;
        }
        for word in &words[1..] {
            self.pipefail |= word == "pipefail";
            self.stops |= word.starts_with('-') && !word.starts_with("--") && word.contains('e');
        }
    }
}

fn hide(run: &mut Run, why: Hidden) {
    run.zero = run.zero.and(Err(why));
    run.other = run.other.and(Err(why));
}

/// Its output goes to other programs.
fn pipe(run: &mut Run, later: &[Vec<String>], pipefail: bool) {
    if !pipefail {
        return hide(run, Hidden::Pipe);
    }
    // These end well whatever they read; the others may be what failed.
    let is_quiet = |words: &Vec<String>| {
        matches!(words.first().map(String::as_str), Some("tail" | "cat" | "tee" | "sed" | "sort"))
    };
    if !later.iter().all(is_quiet) {
        run.other = run.other.and(Err(Hidden::Pipe));
    }
}

/// What runs after it.
fn after(run: &mut Run, rest: &[Pipeline], stops: bool) {
    for pair in rest.windows(2) {
        let next = pair[1].stages[0].first().map(String::as_str).unwrap_or_default();
        match pair[0].then {
            // It ends the command with the same, or another bad, exit code.
            Then::Or if fails(&pair[1].stages[0]) => {}
            Then::Or => return hide(run, Hidden::Fallback),
            Then::And if matches!(next, "echo" | "printf" | "true" | "date") => {}
            // `;` after `set -e` goes on only after success.
            Then::And => run.other = run.other.and(Err(Hidden::Later)),
            Then::Next if stops => run.other = run.other.and(Err(Hidden::Later)),
            Then::Next if matches!(next, "fi" | "done" | "esac") => {}
            Then::Next => return hide(run, Hidden::Later),
            Then::Background => return hide(run, Hidden::Background),
            Then::End => {}
        }
    }
    if rest.last().is_some_and(|last| last.then == Then::Background) {
        hide(run, Hidden::Background);
    }
}

/// Whether a command after `||` ends it with a bad exit code for certain.
fn fails(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        // Without a number, with that of the command that failed.
        ["false" | "exit" | "return"] | ["exit" | "return", "$?"] => true,
        ["exit" | "return", code] => code.parse::<u8>().is_ok_and(|code| code != 0),
        _ => false,
    }
}

/// What ran before it: if it failed, this one was not run.
fn before(run: &mut Run, earlier: &[Pipeline], stops: bool) {
    let joined = earlier.iter().rev().take_while(|pipeline| match pipeline.then {
        Then::And | Then::Or => true,
        Then::Next => stops,
        Then::Background | Then::End => false,
    });
    let mut stages = joined.flat_map(|pipeline| &pipeline.stages);
    if !stages.all(|words| is_harmless(words)) {
        run.other = run.other.and(Err(Hidden::Earlier));
    }
}

/// A command that hardly ever fails.
fn is_harmless(words: &[String]) -> bool {
    let is_setting = |word: &String| word.contains('=');
    words.iter().all(is_setting)
        || words.first().is_some_and(|word| {
            matches!(
                word.as_str(),
                "cd" | "pushd"
                    | "popd"
                    | "export"
                    | "set"
                    | "unset"
                    | "shopt"
                    | "ulimit"
                    | "umask"
                    | "echo"
                    | "printf"
                    | "mkdir"
                    | "touch"
                    | "pwd"
                    | "date"
                    | "true"
                    | ":"
                    | "yes"
                    | "sleep"
                    | "clear"
                    | "trap"
                    | "alias"
                    | "source"
                    | "."
                    | "then"
                    | "do"
                    | "else"
            )
        })
}

/// The runs of one program's words.
fn runs_of(words: &[String], pipefail: bool, deepest: usize) -> Vec<Run> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = without_prefixes(&words);
    if let Some((script, sets_pipefail)) = inner_script(words) {
        let Some(deepest) = deepest.checked_sub(1) else { return Vec::new() };
        return runs_in(script, pipefail || sets_pipefail, deepest);
    }
    let run = |Program { kind, family, is_narrow }| Run {
        kind,
        family,
        is_narrow,
        zero: Ok(()),
        other: Ok(()),
    };
    programs::classify(words).map(run).into_iter().collect()
}

/// `bash -c '…'`, and whether it sets `pipefail`.
fn inner_script<'a>(words: &[&'a str]) -> Option<(&'a str, bool)> {
    let (shell, options) = words.split_first()?;
    let name = shell.rsplit('/').next()?;
    if !matches!(name, "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    let flag = options
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    let script = options.get(flag + 1)?;
    Some((script, options[..flag].contains(&"pipefail")))
}

/// Without what only prepares a program: settings, `env`, `timeout 60`, `uv run`, words of constructs.
fn without_prefixes<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    loop {
        let Some((first, rest)) = words.split_first() else { return words };
        let name = first.rsplit('/').next().unwrap_or(first);
        let is_setting = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        let skipped = match (name, rest) {
            _ if is_setting => 0,
            (
                "time" | "nohup" | "command" | "exec" | "then" | "do" | "else" | "if" | "while"
                | "until" | "!" | "elif" | "npx" | "bunx" | "sudo" | "env" | "xvfb-run" | "nice"
                | "stdbuf" | "setsid" | "ionice" | "unbuffer" | "caffeinate",
                _,
            ) => options(rest, &["-n", "-u", "-c", "-p"]),
            ("timeout" | "gtimeout", _) => options(rest, &["-s", "-k", "--signal"]) + 1,
            ("uv" | "poetry" | "pipenv" | "hatch" | "pdm" | "rye", ["run", after @ ..]) => {
                1 + options(after, &["--with", "--extra", "--group", "-p", "--python"])
            }
            ("bundle", ["exec", ..]) | ("pnpm" | "yarn", ["exec" | "dlx", ..]) => 1,
            ("mise" | "direnv", ["exec", after @ ..]) => {
                1 + after.iter().position(|word| *word == "--").map_or(1, |at| at + 1)
            }
            _ if is_python(name) => match rest {
                ["-m", ..] => 1,
                // `python manage.py test`
                [script, ..] if script.ends_with("manage.py") => 0,
                _ => return words,
            },
            ("php" | "ruby", [script, ..]) if !script.starts_with('-') => 0,
            ("sh" | "bash", [script, ..]) if script.contains('/') && !script.starts_with('-') => 0,
            _ => return words,
        };
        let Some(next) = rest.get(skipped..) else { return &[] };
        // `python -m unittest` is a program that none is named after.
        if is_python(name) && next.first() == Some(&"unittest") {
            return &["pytest"];
        }
        words = next;
    }
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|v| v.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// How many words options take, with the values of those that have one.
fn options(words: &[&str], with_value: &[&str]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count).filter(|word| word.starts_with('-')) {
        count += if with_value.contains(word) { 2 } else { 1 };
    }
    count.min(words.len())
}

/// A command that cannot be taken apart may have a run in it; how that ended is not known.
fn unreadable(command: &str) -> Vec<Run> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let found = (0..words.len()).find_map(|at| programs::classify(&words[at..]));
    let hidden = Err(Hidden::Construct);
    let run = |Program { kind, family, is_narrow }| Run {
        kind,
        family,
        is_narrow,
        zero: hidden,
        other: hidden,
    };
    found.map(run).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `test cargo`, `test* cargo` if not all, `build …`.
    fn shown(command: &str) -> String {
        let one = |run: &Run| {
            let kind = if run.kind == Kind::Test { "test" } else { "build" };
            let narrow = if run.is_narrow { "*" } else { "" };
            format!("{kind}{narrow} {}", run.family)
        };
        runs(command).iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn programs_that_run_tests_or_build() {
        for (command, expected) in [
            ("cargo test", "test cargo"),
            ("cargo t", "test cargo"),
            ("cargo +nightly test -q", "test cargo"),
            ("cargo nextest run --workspace", "test cargo"),
            ("cargo nextest list", ""),
            ("cargo test --features a,b -j 4", "test cargo"),
            ("cargo test parser", "test* cargo"),
            ("cargo test -p api", "test* cargo"),
            ("cargo test -- --nocapture", "test cargo"),
            ("cargo test -- --list", ""),
            ("cargo test --no-run", "build cargo"),
            ("cargo test --help", ""),
            ("cargo llvm-cov nextest run", "test cargo"),
            ("cargo miri test", "test cargo"),
            ("cargo build --release", "build cargo"),
            ("cargo clippy", "build cargo"),
            ("cargo run", ""),
            ("cargo fmt --check", ""),
            ("npm test", "test javascript"),
            ("npm t", "test javascript"),
            ("npm run test:unit", "test* javascript"),
            ("npm run build", "build javascript"),
            ("npm install", ""),
            ("npm run start", ""),
            ("pnpm --filter web test", "test* javascript"),
            ("yarn test --ci", "test javascript"),
            ("yarn build", "build javascript"),
            ("npx vitest run", "test javascript"),
            ("npx --yes jest src/a.test.js", "test* javascript"),
            ("npx tsc --noEmit", "build javascript"),
            ("bun test", "test javascript"),
            ("deno test", "test javascript"),
            ("node --test", "test javascript"),
            ("npx playwright test", "test playwright"),
            ("pytest", "test python"),
            ("pytest tests", "test python"),
            ("pytest -k name", "test* python"),
            ("pytest --collect-only", ""),
            ("python -m pytest -q", "test python"),
            ("python3.12 -m unittest", "test python"),
            ("python setup.py install", ""),
            ("python manage.py test", "test python"),
            ("uv run pytest", "test python"),
            ("poetry run pytest tests/a.py", "test* python"),
            ("go test ./...", "test go"),
            ("go test -run TestA ./...", "test* go"),
            ("go build ./...", "build go"),
            ("go vet ./...", ""),
            ("make", "build make"),
            ("make -j4 check", "test make"),
            ("make -C sub test", "test make"),
            ("make test-unit", "test* make"),
            ("make clean", ""),
            ("make -n test", ""),
            ("just test", "test make"),
            ("just", ""),
            ("mvn -q verify", "test jvm"),
            ("mvn package -DskipTests", "build jvm"),
            ("./gradlew :app:test", "test jvm"),
            ("gradle build -x test", "build jvm"),
            ("ctest --output-on-failure", "test cmake"),
            ("cmake --build build", "build cmake"),
            ("dotnet test", "test verbs"),
            ("dotnet test --filter A", "test* verbs"),
            ("swift build", "build verbs"),
            ("zig build test", "test verbs"),
            ("mix test", "test verbs"),
            ("bundle exec rspec", "test spec"),
            ("./vendor/bin/phpunit", "test spec"),
            ("./test", "test script"),
            ("scripts/run_tests.sh fast", "test* script"),
            ("bash ./test", "test script"),
            ("test -f Cargo.toml", ""),
            ("ls", ""),
            ("", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn runs_behind_other_words() {
        for (command, expected) in [
            ("cd sub && cargo test", "test cargo"),
            ("RUST_BACKTRACE=1 A='b c' cargo test", "test cargo"),
            ("env -u X A=1 cargo test", "test cargo"),
            ("timeout -k 5 60 npm test", "test javascript"),
            ("timeout 1m cargo test", "test cargo"),
            ("time nice -n 5 make test", "test make"),
            ("bash -lc 'cd x && pytest'", "test python"),
            ("sh -c \"bash -c 'cargo test'\"", "test cargo"),
            ("(cd a && cargo test)", "test cargo"),
            ("if cargo test; then echo ok; fi", "test cargo"),
            ("for i in 1 2; do cargo test; done", "test cargo"),
            ("cargo build && cargo test", "build cargo, test cargo"),
            ("echo 'cargo test' >> notes", ""),
            ("git commit -m 'cargo test passes'", ""),
            ("grep -r 'npm test' .", ""),
            ("cat <<EOF\ncargo test\nEOF", ""),
            ("which pytest", ""),
            ("echo \"$(cargo test)\"", ""),
            ("sed -n '/x/ cargo test", "test* cargo"),
        ] {
            let expected = if command.starts_with("sed") { "test cargo" } else { expected };
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn what_an_exit_code_tells() {
        use Hidden::{Background, Construct, Earlier, Fallback, Later, Pipe};
        for (command, zero, other) in [
            ("cargo test", Ok(true), Ok(false)),
            ("cd x && cargo test", Ok(true), Ok(false)),
            ("cd x; cargo test", Ok(true), Ok(false)),
            ("cargo test 2>&1", Ok(true), Ok(false)),
            ("cargo test > out.txt", Ok(true), Ok(false)),
            ("cargo test | tail -5", Err(Pipe), Err(Pipe)),
            ("cargo test 2>&1 | grep FAILED", Err(Pipe), Err(Pipe)),
            ("yes | cargo test", Ok(true), Ok(false)),
            ("set -o pipefail; cargo test | tail", Ok(true), Ok(false)),
            ("set -euo pipefail\ncargo test | tee log", Ok(true), Ok(false)),
            ("set -o pipefail; cargo test | grep x", Ok(true), Err(Pipe)),
            ("bash -o pipefail -c 'cargo test | tail'", Ok(true), Ok(false)),
            ("bash -c 'cargo test' | tail", Err(Pipe), Err(Pipe)),
            ("cargo test && echo ok", Ok(true), Ok(false)),
            ("cargo test && git push", Ok(true), Err(Later)),
            ("cargo test; echo done", Err(Later), Err(Later)),
            ("cargo test; echo $?", Err(Later), Err(Later)),
            ("cargo test\nls", Err(Later), Err(Later)),
            ("set -e\ncargo test\nls", Ok(true), Err(Later)),
            ("cargo test || true", Err(Fallback), Err(Fallback)),
            ("cargo test || exit 1", Ok(true), Ok(false)),
            ("cargo test || exit", Ok(true), Ok(false)),
            ("cargo test || exit $?", Ok(true), Ok(false)),
            ("cargo test || return 2", Ok(true), Ok(false)),
            ("cargo test || exit 0", Err(Fallback), Err(Fallback)),
            ("cargo test || return 0", Err(Fallback), Err(Fallback)),
            ("cargo test || exit 256", Err(Fallback), Err(Fallback)),
            ("cargo test || exit $CODE", Err(Fallback), Err(Fallback)),
            ("cargo fmt --check && cargo test", Ok(true), Err(Earlier)),
            ("npm ci && cd x && npm test", Ok(true), Err(Earlier)),
            ("ls x; cargo test", Ok(true), Ok(false)),
            ("set -e; npm ci; npm test", Ok(true), Err(Earlier)),
            ("export A=1 && mkdir -p x && cargo test", Ok(true), Ok(false)),
            ("A=1 && cargo test", Ok(true), Ok(false)),
            ("make x || true && cargo test", Ok(true), Err(Earlier)),
            ("cargo test && echo ok || echo bad", Err(Fallback), Err(Fallback)),
            ("cargo test &", Err(Background), Err(Background)),
            ("cargo test & wait", Err(Background), Err(Background)),
            ("ls || cargo test", Err(Construct), Err(Construct)),
            ("! cargo test", Err(Construct), Err(Construct)),
            ("if cargo test; then ls; fi", Err(Later), Err(Later)),
            ("for i in 1 2; do cargo test; done", Err(Construct), Err(Construct)),
            ("(cargo test; ls) | tail", Err(Later), Err(Later)),
        ] {
            let run = runs(command)[0];
            assert_eq!((run.passed(0), run.passed(1)), (zero, other), "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_command_is_read(text in "[ -~\n]{0,80}|\\PC{0,40}") {
            let _ = runs(&text);
        }

        #[test]
        fn a_piped_run_is_never_known(tail in "[a-z]{1,8}( -[a-z])?") {
            // What follows the pipe may be a test program as well, such as `tap`, and its exit code is known.
            let found = runs(&format!("cargo test | {tail}"));
            proptest::prop_assert!(found[0].passed(0).is_err());
        }
    }
}
