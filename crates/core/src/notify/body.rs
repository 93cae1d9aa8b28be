//! What is posted: templates, and the shapes of well-known receivers.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Body, Format};
use crate::notice::Notice;

const JSON: &str = "application/json";
/// Discord takes 2,000 characters, Telegram 4,096, ntfy 4,096 bytes.
const MOST_DISCORD: usize = 1900;
const MOST_TELEGRAM: usize = 4000;
const MOST_NTFY_BYTES: usize = 3800;

/// The words that a template may contain, in braces.
const WORDS: [&str; 8] = ["title", "text", "occasion", "session", "host", "at", "json", "message"];

#[derive(Serialize)]
struct Slack {
    text: String,
}

#[derive(Serialize)]
struct Discord {
    content: String,
    allowed_mentions: Mentions,
}

/// Allows no mentions, whatever an agent writes.
#[derive(Serialize)]
struct Mentions {
    parse: [String; 0],
}

#[derive(Serialize)]
struct Telegram<'a> {
    chat_id: &'a str,
    text: String,
    disable_web_page_preview: bool,
}

#[derive(Serialize)]
struct Ntfy<'a> {
    topic: &'a str,
    title: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
}

/// The body and its content type. `topic` is that of ntfy.
pub fn render(body: &Body, notice: &Notice, topic: &str) -> Result<(String, String), String> {
    let json = |value: Result<String, serde_json::Error>| {
        Ok((value.map_err(|error| error.to_string())?, JSON.to_owned()))
    };
    match body {
        Body::Format(Format::Json) => json(serde_json::to_string(notice)),
        Body::Format(Format::Slack) => {
            let escape =
                |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let text = format!("*{}*\n{}", escape(&notice.title), escape(&notice.text));
            json(serde_json::to_string(&Slack { text: text.trim_end().to_owned() }))
        }
        Body::Format(Format::Discord) => {
            let content = format!("**{}**\n{}", notice.title, notice.text);
            let content = shortened(content.trim_end(), MOST_DISCORD).into_owned();
            let allowed_mentions = Mentions { parse: [] };
            json(serde_json::to_string(&Discord { content, allowed_mentions }))
        }
        Body::Format(Format::Telegram { chat }) => {
            let text = shortened(&message(notice), MOST_TELEGRAM).into_owned();
            let shape = Telegram { chat_id: chat, text, disable_web_page_preview: true };
            json(serde_json::to_string(&shape))
        }
        Body::Ntfy { priority, tags } => {
            let message = if notice.text.is_empty() { &notice.title } else { &notice.text };
            let mut most = MOST_NTFY_BYTES;
            let mut short = shortened(message, most);
            while short.len() > MOST_NTFY_BYTES {
                most = most * 3 / 4;
                short = shortened(message, most);
            }
            let (title, message) = (notice.title.as_str(), short.into_owned());
            json(serde_json::to_string(&Ntfy { topic, title, message, priority: *priority, tags }))
        }
        Body::Template { text, content_type } => {
            Ok((fill(text, content_type, notice)?, content_type.clone()))
        }
    }
}

/// Title and text.
fn message(notice: &Notice) -> String {
    format!("{}\n{}", notice.title, notice.text).trim_end().to_owned()
}

/// At most so many characters, with a mark if something is missing.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The address of an ntfy server, and the topic, from the address of the topic.
pub fn ntfy_address(url: &str) -> Result<(&str, &str), String> {
    let (server, topic) = url.trim_end_matches('/').rsplit_once('/').unwrap_or((url, ""));
    let is_server = server.contains("://") && !server.ends_with('/');
    if !is_server || topic.is_empty() {
        return Err("url: the topic is missing; write https://ntfy.sh/TOPIC".to_owned());
    }
    Ok((server, topic))
}

/// A word in braces in a template that is not known: a mistake, since nothing else looks like that.
pub fn unknown_word(template: &str) -> Option<&str> {
    words(template).map(|(_, word)| word).find(|word| !WORDS.contains(word))
}

/// The words in braces, with their places.
fn words(template: &str) -> impl Iterator<Item = (usize, &str)> {
    template.match_indices('{').filter_map(|(start, _)| {
        let rest = &template[start + 1..];
        let word = &rest[..rest.find('}')?];
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_word.then_some((start, word))
    })
}

fn fill(template: &str, content_type: &str, notice: &Notice) -> Result<String, String> {
    let mut filled = String::new();
    let mut done = 0;
    for (start, word) in words(template) {
        filled.push_str(&template[done..start]);
        done = start + word.len() + 2;
        let value = match word {
            "title" => notice.title.clone(),
            "text" => notice.text.clone(),
            "message" => message(notice),
            "occasion" => notice.occasion.as_str().to_owned(),
            "session" => notice.session.clone().unwrap_or_default(),
            "host" => notice.host.clone(),
            "at" => notice.at.to_string(),
            "json" => {
                // A value of its own, not the inside of a string.
                let json = serde_json::to_string(notice).map_err(|error| error.to_string())?;
                filled.push_str(&json);
                continue;
            }
            other => return Err(format!("unknown word {{{other}}} in the body")),
        };
        filled.push_str(&escaped(&value, content_type)?);
    }
    filled.push_str(&template[done..]);
    Ok(filled)
}

/// A value as it stands within a body of this type.
fn escaped(value: &str, content_type: &str) -> Result<String, String> {
    if content_type.contains("json") {
        let quoted = serde_json::to_string(value).map_err(|error| error.to_string())?;
        return Ok(quoted[1..quoted.len() - 1].to_owned());
    }
    if content_type.contains("x-www-form-urlencoded") {
        return Ok(value.bytes().fold(String::new(), |mut text, byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
            text
        }));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::Occasion;
    use serde_json::Value;

    fn notice(title: &str, text: &str) -> Notice {
        Notice {
            occasion: Occasion::Waiting,
            at: jiff::Timestamp::from_second(1_794_700_000).unwrap(),
            host: "desk".into(),
            title: title.into(),
            text: text.into(),
            session: Some("dev".into()),
            data: Value::Null,
            several: Vec::new(),
        }
    }

    fn posted(body: &Body, notice: &Notice) -> Value {
        serde_json::from_str(&render(body, notice, "topic").unwrap().0).unwrap()
    }

    #[test]
    fn shapes_of_receivers() {
        let notice = notice("dev: asks <b>", "rm & \"x\"");
        let of = |format| posted(&Body::Format(format), &notice);
        assert_eq!(of(Format::Slack)["text"], "*dev: asks &lt;b&gt;*\nrm &amp; \"x\"");
        let discord = of(Format::Discord);
        assert_eq!(discord["content"], "**dev: asks <b>**\nrm & \"x\"");
        assert_eq!(discord["allowed_mentions"]["parse"].as_array().map(Vec::len), Some(0));
        let telegram = of(Format::Telegram { chat: "-100".into() });
        assert_eq!(telegram["chat_id"], "-100");
        assert_eq!(telegram["text"], "dev: asks <b>\nrm & \"x\"");
        assert_eq!(of(Format::Json)["occasion"], "waiting");
        let ntfy = Body::Ntfy { priority: Some(4), tags: vec!["robot".into()] };
        let ntfy = posted(&ntfy, &notice);
        assert_eq!((&ntfy["topic"], &ntfy["priority"]), (&"topic".into(), &4.into()));
        assert_eq!((&ntfy["title"], &ntfy["tags"][0]), (&"dev: asks <b>".into(), &"robot".into()));
    }

    #[test]
    fn long_texts_are_shortened_to_what_is_taken() {
        let notice = notice("t", &"ä".repeat(9000));
        let length = |body: &Body, field: &str| {
            let text = posted(body, &notice)[field].as_str().unwrap().to_owned();
            (text.chars().count(), text.len())
        };
        assert!(length(&Body::Format(Format::Discord), "content").0 <= 2000);
        let telegram = Body::Format(Format::Telegram { chat: "1".into() });
        assert!(length(&telegram, "text").0 <= 4096);
        let ntfy = Body::Ntfy { priority: None, tags: Vec::new() };
        assert!(length(&ntfy, "message").1 <= 4096);
    }

    #[test]
    fn the_address_of_a_topic() {
        let table = [
            ("https://ntfy.sh/a", Some(("https://ntfy.sh", "a"))),
            ("http://127.0.0.1:80/sub/a/", Some(("http://127.0.0.1:80/sub", "a"))),
            ("https://ntfy.sh", None),
            ("https://ntfy.sh/", None),
        ];
        for (url, want) in table {
            assert_eq!(ntfy_address(url).ok(), want, "{url}");
        }
    }

    #[test]
    fn templates() {
        let notice = notice("a \"b\"", "c\nd");
        let table = [
            ("{\"m\": \"{title}: {text}\"}", JSON, "{\"m\": \"a \\\"b\\\": c\\nd\"}"),
            (
                "{\"x\": {\"y\": 1}, \"s\": \"{session}\"}",
                JSON,
                "{\"x\": {\"y\": 1}, \"s\": \"dev\"}",
            ),
            ("m={title}&h={host}", "application/x-www-form-urlencoded", "m=a%20%22b%22&h=desk"),
            ("{occasion} {title}\n{text}", "text/plain", "waiting a \"b\"\nc\nd"),
            ("{message}", "text/plain", "a \"b\"\nc\nd"),
            ("nothing {", "text/plain", "nothing {"),
        ];
        for (template, content_type, want) in table {
            assert_eq!(unknown_word(template), None, "{template}");
            assert_eq!(fill(template, content_type, &notice).as_deref(), Ok(want));
        }
        let whole = fill("{\"n\": {json}}", JSON, &notice).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(whole["n"]["title"], "a \"b\"");
        assert_eq!(unknown_word("{titel}"), Some("titel"));
        // What an agent writes is not a template.
        let sly = Notice { title: "{text}".into(), ..notice };
        assert_eq!(fill("{title}", "text/plain", &sly).as_deref(), Ok("{text}"));
    }
}
