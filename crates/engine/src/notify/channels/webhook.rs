use std::path::PathBuf;
use std::time::Duration;

use dogwatch_core::notice::Notice;
use dogwatch_core::notify::{Body, Post, body};
use dogwatch_core::web_address;

use super::Sink;
use crate::notify::{http, secret};

/// Posts the notification: as JSON, in the shape of a well-known receiver, or by a template. Redirects are not followed: the token must not reach another host.
pub(super) struct Webhook {
    pub(super) post: Post,
    /// The folder of the configuration file.
    pub(super) folder: Option<PathBuf>,
}

impl Sink for Webhook {
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let folder = self.folder.as_deref();
        let mut url = secret::read(&self.post.url, folder)?;
        let mut token = self.post.token.as_ref().map(|token| secret::read(token, folder));
        if url.contains("{token}") {
            url = url.replace("{token}", &token.take().transpose()?.unwrap_or_default());
        }
        let token = token.transpose()?;
        let (url, topic) = match self.post.body {
            Body::Ntfy { .. } => body::ntfy_address(&url)?,
            _ => (url.as_str(), ""),
        };
        let address = web_address::parse(url)?;
        let (text, content_type) = body::render(&self.post.body, notice, topic)?;
        let status = http::post(&address, token.as_deref(), &text, &content_type, limit)
            // The path may be the secret.
            .map_err(|problem| problem.replace(url, web_address::host(&address)))?;
        if (200..300).contains(&status) {
            Ok(())
        } else {
            Err(format!("the server answered {status}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::outward;
    use dogwatch_core::notice::Occasion;
    use dogwatch_core::notify::{Format, Secret};
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
        let token = token_file.map(|file| Secret::File(file.display().to_string()));
        let body = Body::Format(Format::Json);
        let post = Post { url: Secret::Plain(url.to_owned()), token, body };
        Webhook { post, folder: None }.send(&outward::notice(&notice), LIMIT)
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
        let uri: ureq::http::Uri =
            format!("http://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let said = http::post(&uri, None, "{}", "application/json", Duration::from_millis(200));
        assert_eq!(said, Err("timeout".to_owned()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri: ureq::http::Uri =
            format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let talk = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while said.is_ok() {
                said = stream.write_all(format!("X: {}\r\n", "x".repeat(1000)).as_bytes());
            }
        };
        let talking = thread::spawn(talk);
        let begun = std::time::Instant::now();
        assert!(http::post(&uri, None, "{}", "application/json", LIMIT).is_err());
        assert!(begun.elapsed() < LIMIT, "it was cut off by its length");
        talking.join().unwrap();
        let (url, asked) = answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n");
        assert_eq!(send_to(&url, None), Err("the server answered 302".to_owned()));
        asked.join().unwrap();
    }
}
