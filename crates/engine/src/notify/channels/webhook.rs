use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_core::notice::Notice;
use dogwatch_core::web_address;
use ureq::Agent;
use ureq::http::Uri;
use ureq::http::uri::Scheme;

use super::Sink;
use crate::notify::{outward, tls};
use dogwatch_base::program::ensure_thread_available;

/// Limit on the response that is read; only its status counts.
const ANSWER: usize = 64 * 1024;

/// Posts the notification as JSON. Redirects are not followed: the token must not reach another host.
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) token_env: Option<String>,
    pub(super) token_file: Option<PathBuf>,
}

impl Sink for Webhook {
    fn name(&self) -> String {
        let url = web_address::parse(&self.url).unwrap_or_default();
        format!("webhook {}", web_address::host(&url))
    }

    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let url = web_address::parse(&self.url)?;
        let token = self.token()?;
        let body = serde_json::to_value(notice).map_err(|error| error.to_string())?;
        let body = outward::json(body).to_string();
        let status = post(&url, token.as_deref(), &body, limit)?;
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
            (Some(name), _) => Some(
                std::env::var(name)
                    .map_err(|_| format!("environment variable {name} is not set"))?,
            ),
            (None, Some(file)) => Some(read_secret(file)?),
            (None, None) => None,
        };
        let token = token.map(|token| token.trim().to_owned());
        if token.as_deref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err("the token contains characters that are not allowed in a header".to_owned());
        }
        Ok(token)
    }
}

fn read_secret(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "{shown} is readable by other users (mode {mode:03o}); chmod 600 {shown}"
        ));
    }
    let bytes = dogwatch_store::read_regular(path, 64 * 1024).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8"))
}

fn post(url: &Uri, token: Option<&str>, body: &str, limit: Duration) -> Result<u16, String> {
    let is_secure = url.scheme() == Some(&Scheme::HTTPS);
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(limit))
        .max_response_header_size(ANSWER)
        .user_agent("dogwatch");
    if is_secure {
        config = config.tls_config(tls::for_http()?);
    } else {
        // Plain HTTP does not go through a proxy.
        config = config.proxy(None);
    }
    if web_address::host(url).parse::<IpAddr>().is_err() {
        // ureq starts a thread for the name lookup and panics if it cannot.
        ensure_thread_available()
            .map_err(|error| format!("cannot start a thread to look up {url}: {error}"))?;
    }
    let mut request = config.build().new_agent().post(url).content_type("application/json");
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    // The response's body is not read.
    request.send(body).map(|answer| answer.status().as_u16()).map_err(explain)
}

fn explain(error: ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "timeout".to_owned(),
        ureq::Error::Protocol(_) => "the server does not speak HTTP".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::notice::Occasion;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    const LIMIT: Duration = Duration::from_secs(10);

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

    fn send_to(url: &str, token_file: Option<PathBuf>) -> Result<(), String> {
        let notice = super::super::notice(
            Occasion::EscalationRaised,
            "t \"quoted\"".into(),
            format!("a\nb AKIA{}", "QWERTYUIOPASDF12"),
            &serde_json::Value::Null,
        );
        let hook = Webhook { url: url.to_owned(), token_env: None, token_file };
        hook.send(&notice, LIMIT)
    }

    #[test]
    fn a_notification_is_posted_with_its_token() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("token");
        std::fs::write(&file, "s3cret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let (url, asked) = answer("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(send_to(&url, Some(file.clone())), Ok(()));
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("POST /hook HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\nauthorization: Bearer s3cret\r\n"), "{asked}");
        let body = asked.split("\r\n\r\n").nth(1).unwrap();
        let posted: Notice = serde_json::from_str(body).unwrap();
        assert_eq!(
            (posted.occasion, posted.title.as_str(), posted.text.as_str()),
            (Occasion::EscalationRaised, "t \"quoted\"", "a\nb AKIAxxxxxxxxxxxxxxxx")
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = send_to(&url, Some(file)).unwrap_err();
        assert!(refused.contains("chmod 600"), "{refused}");
    }

    #[test]
    fn failures_are_explained() {
        let (url, asked) = answer("HTTP/1.1 500 Oh\r\n\r\n");
        assert_eq!(send_to(&url, None), Err("the server answered 500".to_owned()));
        asked.join().unwrap();
        let (url, asked) = answer("220 smtp\r\n\r\n");
        assert_eq!(send_to(&url, None), Err("the server does not speak HTTP".to_owned()));
        asked.join().unwrap();
        assert!(send_to(&url, None).unwrap_err().contains("refused"));
    }

    #[test]
    fn a_response_without_end_times_out() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri: Uri = format!("http://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let said = post(&uri, None, "{}", Duration::from_millis(200));
        assert_eq!(said, Err("timeout".to_owned()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri: Uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let talk = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while said.is_ok() {
                said = stream.write_all(format!("X: {}\r\n", "x".repeat(1000)).as_bytes());
            }
        };
        let talking = thread::spawn(talk);
        let begun = std::time::Instant::now();
        assert!(post(&uri, None, "{}", LIMIT).is_err());
        assert!(begun.elapsed() < LIMIT, "it was cut off by its length");
        talking.join().unwrap();
        let (url, asked) = answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n");
        assert_eq!(send_to(&url, None), Err("the server answered 302".to_owned()));
        asked.join().unwrap();
    }
}
