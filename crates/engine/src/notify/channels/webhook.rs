use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_core::http::{self, Url};
use dogwatch_core::notice::Notice;

use super::Sink;
use crate::notify::{outward, process};

/// The most that is read of an answer, of which only the first line counts.
const ANSWER: usize = 8 * 1024;

/// A POST of the notice as JSON. Redirects are not followed: a token goes nowhere but where it was meant to.
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) token_env: Option<String>,
    pub(super) token_file: Option<PathBuf>,
}

impl Sink for Webhook {
    fn name(&self) -> String {
        let host = Url::parse(&self.url).map(|url| url.host).unwrap_or_default();
        format!("webhook {host}")
    }

    fn tell(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let url = Url::parse(&self.url)?;
        let token = self.token()?;
        let body = serde_json::to_value(notice).map_err(|error| error.to_string())?;
        let body = outward::json(body).to_string();
        let status = if url.secure {
            by_curl(&self.url, token.as_deref(), &body, limit)?
        } else {
            post(&url, token.as_deref(), &body, Instant::now() + limit)?
        };
        if (200..300).contains(&status) {
            Ok(())
        } else {
            Err(format!("the server answered {status}"))
        }
    }
}

impl Webhook {
    fn token(&self) -> Result<Option<String>, String> {
        let token = match (&self.token_env, &self.token_file) {
            (Some(name), _) => {
                Some(std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?)
            }
            (None, Some(file)) => Some(read_secret(file)?),
            (None, None) => None,
        };
        let token = token.map(|token| token.trim().to_owned());
        if token.as_deref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err("the token has characters that a header cannot have".to_owned());
        }
        Ok(token)
    }
}

fn read_secret(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("{shown} cannot be read: {error}");
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!("{shown} can be read by others (mode {mode:03o}); chmod 600 {shown}"));
    }
    let bytes = dogwatch_store::read_regular(path, 64 * 1024).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8"))
}

fn post(url: &Url, token: Option<&str>, body: &str, until: Instant) -> Result<u16, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut addresses = (url.host.as_str(), url.port).to_socket_addrs().map_err(failed)?;
    let address = addresses.next().ok_or_else(|| format!("{} has no address", url.host))?;
    let mut stream = TcpStream::connect_timeout(&address, left(until)?).map_err(failed)?;
    stream.set_write_timeout(Some(left(until)?)).map_err(failed)?;
    stream.write_all(&http::post(url, token, body)).map_err(failed)?;
    let mut answer = Vec::new();
    let mut part = [0; 1024];
    while answer.len() < ANSWER {
        stream.set_read_timeout(Some(left(until)?)).map_err(failed)?;
        let length = stream.read(&mut part).map_err(failed)?;
        answer.extend_from_slice(&part[..length]);
        if let Some(status) = http::status(&answer) {
            return Ok(status);
        }
        if length == 0 {
            break;
        }
    }
    Err("what answers there does not speak HTTP".to_owned())
}

fn left(until: Instant) -> Result<Duration, String> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err("it did not answer in time".to_owned()) } else { Ok(left) }
}

/// TLS is curl's: nothing else in dogwatch would use it for HTTP. All that is secret goes through its standard input.
fn by_curl(url: &str, token: Option<&str>, body: &str, limit: Duration) -> Result<u16, String> {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
    };
    let token = token.map_or_else(String::new, |token| {
        format!("header = {}\n", quoted(&format!("Authorization: Bearer {token}")))
    });
    let config = format!(
        "url = {}\nsilent\nshow-error\noutput = \"/dev/null\"\nwrite-out = \"%{{http_code}}\"\nproto = \"=https\"\nmax-time = {}\n\
         header = \"Content-Type: application/json\"\ndata-raw = {}\n{token}",
        quoted(url),
        limit.as_secs(),
        quoted(body)
    );
    // -q comes first, or the user's own settings would be read.
    let words = ["curl", "-q", "--config", "-"].map(ToOwned::to_owned);
    let ran = process::run(&words, &[], config.as_bytes(), limit + Duration::from_millis(200))?;
    // Of a redirect it would not say that nobody took the notice, so the status is ours to judge.
    let status = ran.status.success().then(|| ran.stdout.trim().parse().ok()).flatten();
    status.ok_or_else(|| complaint(&ran.stderr).unwrap_or_else(|| ran.status.to_string()))
}

/// What curl complained of. On certificates it has a paragraph of advice besides.
fn complaint(stderr: &str) -> Option<String> {
    stderr.lines().find(|line| line.starts_with("curl: ")).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::notice::Occasion;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    fn answer(with: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://127.0.0.1:{}/hook", listener.local_addr().unwrap().port());
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = String::new();
            let mut part = [0; 4096];
            while !asked.ends_with('}') {
                let length = stream.read(&mut part).unwrap();
                asked.push_str(&String::from_utf8_lossy(&part[..length]));
            }
            stream.write_all(with.as_bytes()).unwrap();
            asked
        };
        (url, thread::spawn(serve))
    }

    fn tell(url: &str, token_file: Option<PathBuf>) -> Result<(), String> {
        let notice = super::super::notice(
            Occasion::EscalationRaised,
            "t \"quoted\"".into(),
            format!("a\nb AKIA{}", "QWERTYUIOPASDF12"),
            serde_json::Value::Null,
        );
        let hook = Webhook { url: url.to_owned(), token_env: None, token_file };
        hook.tell(&notice, Duration::from_secs(10))
    }

    #[test]
    fn posted_with_its_token() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("token");
        std::fs::write(&file, "s3cret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let (url, asked) = answer("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(tell(&url, Some(file.clone())), Ok(()));
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("POST /hook HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("Authorization: Bearer s3cret\r\n"), "{asked}");
        let body = asked.split("\r\n\r\n").nth(1).unwrap();
        let told: Notice = serde_json::from_str(body).unwrap();
        assert_eq!(
            (told.occasion, told.title.as_str(), told.text.as_str()),
            (Occasion::EscalationRaised, "t \"quoted\"", "a\nb AKIAxxxxxxxxxxxxxxxx")
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = tell(&url, Some(file)).unwrap_err();
        assert!(refused.contains("chmod 600"), "{refused}");
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let (url, asked) = answer("HTTP/1.1 500 Oh\r\n\r\n");
        assert_eq!(tell(&url, None), Err("the server answered 500".to_owned()));
        asked.join().unwrap();
        let (url, asked) = answer("220 smtp\r\n\r\n");
        assert_eq!(tell(&url, None), Err("what answers there does not speak HTTP".to_owned()));
        asked.join().unwrap();
        assert!(tell(&url, None).unwrap_err().contains("refused"));
    }
}
