//! Ways to tell people that other programs have a hand in.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use dogwatch_testkit::TestEnv;

const QUESTION: &str = "100 <b>of</b> \"100\" \\ & used";

/// An authority of one's own, and a certificate of localhost by it.
pub(crate) const CERTIFICATES: &str = "set -e\n\
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=test authority' -keyout ca.key -out ca.pem\n\
    openssl req -newkey rsa:2048 -nodes -subj '/CN=localhost' -keyout web.key -out web.csr\n\
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' > names\n\
    openssl x509 -req -in web.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out web.pem\n";

/// A server that gives one answer to whoever connects first.
pub(crate) struct Secure {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    pub(crate) port: u16,
}

impl Secure {
    pub(crate) fn start(env: &TestEnv, answer: &str) -> Self {
        let mut command = env.foreign("openssl");
        command.args(["s_server", "-accept", "127.0.0.1:0", "-naccept", "1"]);
        command.args(["-cert", "web.pem", "-key", "web.key"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // openssl sends it as soon as a client connects.
        let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        child.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ACCEPT ") {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it does not listen");
        }
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Self { child, out, port }
    }

    /// All that was sent to it.
    pub(crate) fn heard(mut self) -> String {
        let mut heard = Vec::new();
        self.out.read_to_end(&mut heard).unwrap();
        self.child.wait().unwrap();
        String::from_utf8_lossy(&heard).into_owned()
    }
}

/// Raises a question, and returns the failed notifications.
fn raise(env: &TestEnv, config: &str, run: &str, more: &[(&str, &str)]) -> String {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("[[notify]]\n{config}")).unwrap();
    fs::write(folder.join("token"), "s3cret\n").unwrap();
    fs::set_permissions(folder.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = env.command(&["escalations", "raise", "budget", QUESTION, "--run", run]);
    env.run(command.envs(more.iter().copied())).success().stderr
}

#[test]
fn a_webhook_with_an_authority_of_ones_own() {
    let env = TestEnv::new();
    let _ = env.run(env.foreign("sh").args(["-c", CERTIFICATES])).success();
    let trust = env.work().join("ca.pem").display().to_string();
    let trust = [("SSL_CERT_FILE", trust.as_str())];
    let tell = |answer: &str, run: &str, trust: &[(&str, &str)]| {
        let server = Secure::start(&env, answer);
        let url = format!("https://localhost:{}/hook", server.port);
        let config = format!("kind = 'webhook'\nurl = '{url}'\ntoken_file = 'token'\n");
        (raise(&env, &config, run, trust), server)
    };
    let (warned, server) = tell("204 No Content", "a", &trust);
    assert_eq!(warned, "");
    let heard = server.heard();
    assert!(heard.contains("POST /hook HTTP/1.1"), "{heard}");
    assert!(heard.contains("authorization: Bearer s3cret"), "{heard}");
    let body = heard.lines().find(|line| line.starts_with('{')).unwrap();
    let body = &body[..=body.rfind('}').unwrap()];
    let notice: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(notice["text"].as_str().unwrap().contains(QUESTION), "{notice:#}");
    // dogwatch follows no redirect, so the notification failed.
    for (answer, status) in [("302 Found", "302"), ("500 Oh", "500")] {
        let (warned, server) = tell(answer, status, &trust);
        assert!(
            warned.contains(&format!("webhook localhost: the server answered {status}")),
            "{warned}"
        );
        server.heard();
    }
    let (warned, mut server) = tell("204 No Content", "b", &[]);
    assert!(warned.contains("webhook localhost: "), "{warned}");
    assert!(warned.contains("invalid peer certificate: UnknownIssuer"), "{warned}");
    let _ = server.child.kill();
    assert!(!server.heard().contains("s3cret"));
}

#[test]
fn a_desktop_gets_text_and_no_markup() {
    let env = TestEnv::new();
    let told = env.work().join("told");
    let script = format!("printf '%s\\n' \"$@\" > '{}'", told.display());
    let program = env.write_program("notify-send", &script);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    assert_eq!(raise(&env, "kind = 'desktop'\n", "a", &[("PATH", &path)]), "");
    let told = fs::read_to_string(told).unwrap();
    let title = "--app-name=dogwatch\n--\nDecision needed: 100 <b>of</b> \"100\" \\ & used\n";
    assert!(told.starts_with(title), "{told}");
    assert!(told.contains("100 &lt;b&gt;of&lt;/b&gt; \"100\" \\ &amp; used"), "{told}");
}
