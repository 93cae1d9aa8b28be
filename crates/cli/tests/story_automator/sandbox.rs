//! One case in a world of its own: a project, a home, a temporary folder, a tmux server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::case::{Case, texts};
use super::compare::{Seen, compare};

pub(crate) struct Sandbox {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) begun: Timestamp,
    /// What stands for what in the words of a case.
    names: Vec<(&'static str, String)>,
    env: Vec<(String, String)>,
}

/// What differs, one finding each.
pub(crate) fn run(case: &Case) -> Vec<String> {
    let mut sandbox = Sandbox::new(case);
    let findings = sandbox.run(case);
    if case.is_live() {
        // Its own server, by its own socket folder.
        let _ = sandbox.command("tmux").arg("kill-server").output();
    }
    findings
}

impl Sandbox {
    fn new(case: &Case) -> Self {
        let folder = tempfile::Builder::new().prefix("sac-").tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["demo-app", "home", "tmp", "tmux"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let begun = Timestamp::now();
        let mut sandbox = Self { _folder: folder, root, begun, names: Vec::new(), env: Vec::new() };
        let before = |seconds: i64| iso(begun - SignedDuration::from_secs(seconds));
        let path = |name: &str| sandbox.root.join(name).to_str().unwrap().to_owned();
        let project = path("demo-app");
        let names = vec![
            ("{{PROJECT_HASH}}", dogwatch_bmad::format::slug::short_hash(&project)),
            ("{{PROJECT}}", project),
            ("{{HOME}}", path("home")),
            ("{{TMPDIR}}", path("tmp")),
            ("{{NOW}}", before(0)),
            ("{{STALE}}", before(7200)),
            ("{{OLD30}}", before(1805)),
            ("{{FRESH}}", before(600)),
        ];
        sandbox.names = names;
        let helper = format!("{} story-automator", dogwatch_testkit::dogwatch());
        let mut env: Vec<(String, String)> = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", path_of(&sandbox.root, "home")),
            ("TMPDIR", path_of(&sandbox.root, "tmp")),
            ("TMUX_TMPDIR", path_of(&sandbox.root, "tmux")),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_CEILING_DIRECTORIES", path_of(&sandbox.root, "")),
            ("GIT_AUTHOR_NAME", "t".to_owned()),
            ("GIT_AUTHOR_EMAIL", "t@example.com".to_owned()),
            ("GIT_COMMITTER_NAME", "t".to_owned()),
            ("GIT_COMMITTER_EMAIL", "t@example.com".to_owned()),
            ("SA", helper),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let own = texts(&case.env).filter(|(name, _)| *name != "GIT_CEILING_DIRECTORIES");
        env.extend(own.map(|(name, value)| (name.to_owned(), sandbox.fill(value))));
        sandbox.env = env;
        sandbox
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("demo-app")
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.names.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter().cloned()).current_dir(self.project());
        command
    }

    fn helper(&self, words: &[String]) -> Command {
        let mut command = self.command(dogwatch_testkit::dogwatch());
        command.arg("story-automator").args(words.iter().map(|word| self.fill(word)));
        command
    }

    fn shell(&self, script: &str) -> Output {
        self.command("bash").arg("-c").arg(self.fill(script)).output().unwrap()
    }

    fn run(&mut self, case: &Case) -> Vec<String> {
        for (name, text) in texts(&case.files) {
            write(&self.project().join(name), &self.fill(text));
        }
        for name in &case.exec {
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(self.project().join(name), executable).unwrap();
        }
        for (name, text) in texts(&case.tmp_files) {
            write(&self.root.join("tmp").join(self.fill(name)), &self.fill(text));
        }
        for script in &case.setup {
            let output = self.shell(script);
            if !output.status.success() {
                return vec![format!("setup failed: {script}\n{}", said(&output))];
            }
        }
        if !case.spawn.is_empty() {
            let words = ["tmux-wrapper".to_owned(), "spawn".to_owned()];
            let output = self.helper(&[&words[..], &case.spawn].concat()).output().unwrap();
            if !output.status.success() {
                return vec![format!("spawn failed: {}", said(&output))];
            }
            let session = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            self.names.push(("{{SESSION}}", session));
            // sleep: the case is about a session of that age.
            std::thread::sleep(Duration::from_secs_f64(case.wait.unwrap_or(1.0)));
        }
        let mut command = self.helper(&case.argv);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that does not read its input is as good.
        let _ = std::io::Write::write_all(&mut stdin, case.stdin.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let checked = case.check_cmd.as_ref().map(|script| self.shell(script).stdout);
        let checked = checked.map(|printed| String::from_utf8_lossy(&printed).into_owned());
        compare(case, self, &Seen { output, checked })
    }
}

fn path_of(root: &Path, name: &str) -> String {
    root.join(name).to_str().unwrap().trim_end_matches('/').to_owned()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

pub(crate) fn iso(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
