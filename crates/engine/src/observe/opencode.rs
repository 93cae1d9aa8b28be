//! Asks a session's opencode what it is doing, over HTTP on loopback.

use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::record::ProcessIdent;
use dogwatch_core::status::evidence::OwnWord;
use dogwatch_core::status::self_report::{
    self, Endpoint, OPENCODE_PERMISSIONS, OPENCODE_QUESTIONS, OPENCODE_STATUS,
};
use serde_json::{Map, Value};

use crate::observe::listeners::{self, Listener};
use crate::observe::{files, loopback};

/// Name of the file in the session's folder that tells port and password.
const ENDPOINT: &str = "endpoint.json";
const MAX_ENDPOINT: u64 = 64 * 1024;
/// How long all answers together may take. Others are asked after it, and people wait.
const PATIENCE: Duration = Duration::from_millis(300);

/// Why it says nothing.
#[derive(Debug)]
enum Mute {
    /// Another program has its port: what that says is not of this session.
    Stranger,
    Silent,
}

/// What an agent's opencode says of itself.
pub fn ask(agent: ProcessIdent, folder: &Path) -> OwnWord {
    ask_within(PATIENCE, agent, folder)
}

fn ask_within(patience: Duration, agent: ProcessIdent, folder: &Path) -> OwnWord {
    match answers(patience, agent, folder) {
        Ok([status, permissions, questions]) => {
            self_report::opencode(&status, &permissions, &questions)
        }
        Err(Mute::Stranger) => {
            OwnWord::Forged("another program is listening on its port".to_owned())
        }
        Err(Mute::Silent) => OwnWord::Silent,
    }
}

/// Its answers as they are, in one object.
pub fn raw(agent: ProcessIdent, folder: &Path) -> Option<Vec<u8>> {
    let [status, permissions, questions] = answers(PATIENCE, agent, folder).ok()?;
    let all = [
        (OPENCODE_STATUS, status),
        (OPENCODE_PERMISSIONS, permissions),
        (OPENCODE_QUESTIONS, questions),
    ];
    let all: Map<String, Value> =
        all.map(|(path, answer)| (path.to_owned(), answer)).into_iter().collect();
    serde_json::to_vec(&all).ok()
}

/// Status, permissions and questions. The last two are null if they did not come in time: then it is busy, and a
/// dialog is seen on the screen.
fn answers(patience: Duration, agent: ProcessIdent, folder: &Path) -> Result<[Value; 3], Mute> {
    let deadline = Instant::now() + patience;
    let endpoint = endpoint(folder).ok_or(Mute::Silent)?;
    match listeners::on(endpoint.port, agent.pid) {
        Listener::Agent => {}
        Listener::Unknown if is_locked(&endpoint, deadline) => {}
        Listener::Another => return Err(Mute::Stranger),
        Listener::Nobody | Listener::Unknown => return Err(Mute::Silent),
    }
    let login = Some((endpoint.user.as_str(), endpoint.password.as_str()));
    let paths = [OPENCODE_STATUS, OPENCODE_PERMISSIONS, OPENCODE_QUESTIONS];
    let answers = loopback::get(endpoint.port, paths, login, deadline);
    let [status, permissions, questions] = answers.map(|answer| {
        let (status, body) = answer?;
        (status == 200).then(|| serde_json::from_slice(&body).logged("read JSON")).flatten()
    });
    let status = status.ok_or(Mute::Silent)?;
    Ok([status, permissions.unwrap_or_default(), questions.unwrap_or_default()])
}

fn endpoint(folder: &Path) -> Option<Endpoint> {
    let bytes = files::read_regular(&folder.join(ENDPOINT), MAX_ENDPOINT)?;
    serde_json::from_slice(&bytes).logged("read JSON")
}

/// Whether the one who listens wants a password: only the session's own opencode knows of any.
fn is_locked(endpoint: &Endpoint, deadline: Instant) -> bool {
    let [answer] = loopback::get(endpoint.port, [OPENCODE_STATUS], None, deadline);
    answer.is_some_and(|(status, _)| status == 401)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use dogwatch_core::status::WaitFor;
    use dogwatch_core::status::evidence::Word;

    use super::*;
    use crate::observe::processes;
    use serde_json::json;

    /// Serves so many questions as opencode would, with these answers to the three.
    fn served(questions: usize, answers: [&'static str; 3]) -> (u16, thread::JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move || {
            for _ in 0..questions {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let length = stream.read(&mut bytes).unwrap();
                let asked = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let paths = [OPENCODE_STATUS, OPENCODE_PERMISSIONS, OPENCODE_QUESTIONS];
                let at = paths.iter().position(|path| asked.contains(&format!("GET {path} ")));
                // "opencode:pass"
                let (status, body) = if asked.contains("Basic b3BlbmNvZGU6cGFzcw==") {
                    ("200 OK", answers[at.unwrap()])
                } else {
                    ("401 Unauthorized", "")
                };
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).unwrap();
            }
        };
        (port, thread::spawn(serve))
    }

    /// A session's folder with such an endpoint.
    fn folder(port: u16, password: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = json!({ "port": port, "user": "opencode", "password": password });
        fs::write(folder.path().join(ENDPOINT), endpoint.to_string()).unwrap();
        folder
    }

    /// Without the hurry that a loaded machine would lose to.
    fn ask(agent: ProcessIdent, folder: &Path) -> OwnWord {
        ask_within(Duration::from_secs(20), agent, folder)
    }

    fn me() -> ProcessIdent {
        processes::identify(i32::try_from(std::process::id()).unwrap()).unwrap()
    }

    #[test]
    fn what_it_answers_is_its_word() {
        let busy = r#"{"ses_1":{"type":"busy"}}"#;
        let asks = r#"[{"questions":[{"question":"Which?"}]}]"#;
        let question = Word::Waiting(WaitFor::Question, Some("Which?".to_owned()));
        for (answers, word) in [
            (["{}", "[]", "[]"], Word::Idle),
            ([busy, "[]", "[]"], Word::Busy),
            ([busy, "[]", asks], question),
        ] {
            let (port, server) = served(3, answers);
            assert_eq!(ask(me(), folder(port, "pass").path()), OwnWord::Says(word, None));
            server.join().unwrap();
        }
    }

    #[test]
    fn a_wrong_password_or_nobody_there_is_silence() {
        let (port, server) = served(3, ["{}", "[]", "[]"]);
        assert_eq!(ask(me(), folder(port, "wrong").path()), OwnWord::Silent);
        server.join().unwrap();
        assert_eq!(ask(me(), folder(port, "pass").path()), OwnWord::Silent, "it has ended");
        assert_eq!(ask(me(), tempfile::tempdir().unwrap().path()), OwnWord::Silent);
    }

    #[test]
    fn only_one_who_wants_a_password_is_taken_for_it() {
        let soon = || Instant::now() + Duration::from_secs(20);
        let endpoint = |port| Endpoint { port, user: String::new(), password: String::new() };
        let (port, server) = served(1, ["{}", "[]", "[]"]);
        assert!(is_locked(&endpoint(port), soon()));
        server.join().unwrap();
        assert!(!is_locked(&endpoint(port), soon()), "nobody");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_program_is_not_asked() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let agent = processes::identify(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(matches!(ask(agent, folder(port, "pass").path()), OwnWord::Forged(_)));
        assert!(listener.accept().is_err(), "the password is not given away");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
