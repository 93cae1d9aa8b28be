//! `[[notify]]` tables.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::notify::{
    Body, Channel, Filter, Format, On, Post, Quiet, Rule, Secret, UnlessAttached, body,
};
use crate::status::WaitFor;

/// Longest time limit of a channel: the sender waits for it.
const MAX_SECONDS: u64 = 30;
/// How long to wait for further notifications that can be sent together.
const BATCH: Duration = Duration::from_millis(500);
const MOST_BATCH: Duration = Duration::from_mins(10);
/// How long tmux shows a message.
const SHOWN: Duration = Duration::from_secs(10);

/// One notification channel, and what is sent there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyTable {
    pub kind: Spanned<Way>,
    /// A name for `notify test`, `notify log` and `doctor`.
    name: Option<String>,
    /// The occasions to notify of.
    #[serde(default = "raised_only")]
    on: Vec<On>,
    #[serde(default)]
    project: Words,
    #[serde(default)]
    tag: Words,
    #[serde(default)]
    agent: Words,
    #[serde(default)]
    session: Words,
    #[serde(default)]
    dialog: Dialogs,
    after: Option<Time>,
    #[serde(default)]
    quiet: Words,
    unless_attached: Option<UnlessAttached>,
    batch: Option<Time>,
    /// Time limit in seconds.
    timeout: Option<u64>,
    /// For a command: its words. The notification is on its standard input.
    #[serde(default)]
    command: Vec<String>,
    url: Option<String>,
    url_env: Option<String>,
    url_file: Option<String>,
    /// The variable with the bearer token.
    token_env: Option<String>,
    /// The file with it, readable only for its owner.
    token_file: Option<String>,
    /// The shape of a webhook's body.
    format: Option<Shape>,
    /// A template in place of a shape.
    body: Option<String>,
    content_type: Option<String>,
    /// For Telegram.
    chat: Option<Number>,
    /// For ntfy.
    priority: Option<u8>,
    #[serde(default)]
    ntfy_tags: Vec<String>,
    /// For MQTT.
    topic: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Bell,
    Desktop,
    Tmux,
    Command,
    Webhook,
    Ntfy,
    Mqtt,
}

impl Way {
    fn as_str(self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Desktop => "desktop",
            Self::Tmux => "tmux",
            Self::Command => "command",
            Self::Webhook => "webhook",
            Self::Ntfy => "ntfy",
            Self::Mqtt => "mqtt",
        }
    }

    fn takes_url(self) -> bool {
        matches!(self, Self::Webhook | Self::Ntfy)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Json,
    Slack,
    Discord,
    Telegram,
}

/// A word, or a list of words.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum Words {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Words {
    fn all(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(word) => vec![word.clone()],
            Self::Many(words) => words.clone(),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    untagged,
    expecting = "expected permission, question, plan, trust, login or other, or a list of them"
)]
enum Dialogs {
    #[default]
    None,
    One(WaitFor),
    Many(Vec<WaitFor>),
}

impl Dialogs {
    fn all(&self) -> Vec<WaitFor> {
        match self {
            Self::None => Vec::new(),
            Self::One(one) => vec![*one],
            Self::Many(all) => all.clone(),
        }
    }
}

/// A duration: `"30s"`, or a number of seconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a duration such as \"30s\"")]
pub(super) enum Time {
    Seconds(u64),
    Text(String),
}

impl Time {
    pub(super) fn read(&self) -> Result<Duration, String> {
        match self {
            Self::Seconds(seconds) => Ok(Duration::from_secs(*seconds)),
            Self::Text(text) => text
                .parse::<jiff::Span>()
                .and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()))
                .ok()
                .and_then(|span| Duration::try_from(span).ok())
                .ok_or_else(|| format!("{text:?} is not a duration; write for example \"30s\"")),
        }
    }
}

/// The number of a chat, which may be written as one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected the id of a chat")]
enum Number {
    Number(i64),
    Text(String),
}

fn raised_only() -> Vec<On> {
    vec![On::EscalationRaised]
}

impl NotifyTable {
    /// The rule that the table stands for, or what is wrong with it.
    pub fn rule(&self) -> Result<Rule, String> {
        self.check_fields()?;
        let seconds = self.timeout.unwrap_or(5);
        if !(1..=MAX_SECONDS).contains(&seconds) {
            return Err(format!("timeout must be from 1 to {MAX_SECONDS} seconds"));
        }
        let time = |time: &Option<Time>, name: &str| {
            let read = time.as_ref().map(Time::read).transpose();
            read.map_err(|problem| format!("{name}: {problem}"))
        };
        let batch = time(&self.batch, "batch")?.unwrap_or(BATCH);
        if batch > MOST_BATCH {
            return Err("batch must be at most 10 minutes".to_owned());
        }
        let quiet = self.quiet.all();
        let filter = Filter {
            project: self.project.all(),
            tag: self.tag.all(),
            agent: self.agent.all(),
            session: self.session.all(),
            dialog: self.dialog.all(),
        };
        Ok(Rule {
            name: self.name.clone(),
            channel: self.channel()?,
            on: self.on.clone(),
            filter,
            after: time(&self.after, "after")?.unwrap_or_default(),
            quiet: Quiet::parse(quiet.iter().map(String::as_str))?,
            unless_attached: self.unless_attached,
            batch,
            limit: Duration::from_secs(seconds),
        })
    }

    /// Fields that another kind of channel has.
    fn check_fields(&self) -> Result<(), String> {
        let way = *self.kind.get_ref();
        let word = way.as_str();
        let has_url = self.url.is_some() || self.url_env.is_some() || self.url_file.is_some();
        let has_token = self.token_env.is_some() || self.token_file.is_some();
        let is_shaped = self.format.is_some() || self.body.is_some();
        let wrong = [
            (way != Way::Command && !self.command.is_empty(), "command"),
            (!way.takes_url() && (has_url || has_token), "url or token"),
            (way != Way::Webhook && (is_shaped || self.chat.is_some()), "format, body or chat"),
            (self.content_type.is_some() && self.body.is_none(), "content_type without body"),
            (way != Way::Ntfy && self.priority.is_some(), "priority"),
            (way != Way::Ntfy && !self.ntfy_tags.is_empty(), "ntfy_tags"),
            (way != Way::Mqtt && self.topic.is_some(), "topic"),
        ];
        if let Some((_, field)) = wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(format!("kind {word:?} does not take {field}"));
        }
        if self.token_env.is_some() && self.token_file.is_some() {
            return Err("set token_env or token_file, not both".to_owned());
        }
        let urls = [&self.url, &self.url_env, &self.url_file];
        if urls.into_iter().flatten().count() > 1 {
            return Err("set one of url, url_env and url_file".to_owned());
        }
        if self.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err("name must not be empty".to_owned());
        }
        if self.priority.is_some_and(|priority| !(1..=5).contains(&priority)) {
            return Err("priority must be from 1 to 5".to_owned());
        }
        Ok(())
    }

    fn channel(&self) -> Result<Channel, String> {
        Ok(match self.kind.get_ref() {
            Way::Bell => Channel::Bell,
            Way::Desktop => Channel::Desktop,
            Way::Tmux => Channel::Tmux(SHOWN),
            Way::Command if self.command.is_empty() => {
                return Err(
                    "kind \"command\" needs command = [\"program\", \"argument\", …]".to_owned()
                );
            }
            Way::Command => Channel::Command(self.command.clone()),
            Way::Webhook => Channel::Webhook(self.post(self.webhook_body()?)?),
            Way::Ntfy => {
                let tags = self.ntfy_tags.clone();
                let post = self.post(Body::Ntfy { priority: self.priority, tags })?;
                if let Secret::Plain(url) = &post.url {
                    body::ntfy_address(url)?;
                }
                Channel::Ntfy(post)
            }
            Way::Mqtt => {
                let topic = self.topic.clone().unwrap_or_else(|| "notify".to_owned());
                let level = topic.strip_prefix('/').unwrap_or(&topic);
                if level.is_empty() || level.contains(['+', '#', '\0']) {
                    return Err(format!("invalid topic {topic:?}"));
                }
                Channel::Mqtt { topic }
            }
        })
    }

    fn post(&self, body: Body) -> Result<Post, String> {
        let word = self.kind.get_ref().as_str();
        let url = match (&self.url, &self.url_env, &self.url_file) {
            (Some(url), ..) => {
                let plain = url.replace("{token}", "token");
                crate::web_address::parse(&plain).map_err(|problem| format!("url: {problem}"))?;
                Secret::Plain(url.clone())
            }
            (None, Some(name), _) => Secret::Env(name.clone()),
            (None, None, Some(file)) => Secret::File(file.clone()),
            (None, None, None) => {
                return Err(format!("kind {word:?} needs url = \"http…\""));
            }
        };
        let token = match (&self.token_env, &self.token_file) {
            (Some(name), _) => Some(Secret::Env(name.clone())),
            (None, Some(file)) => Some(Secret::File(file.clone())),
            (None, None) => None,
        };
        if matches!(&url, Secret::Plain(url) if url.contains("{token}")) && token.is_none() {
            return Err("the url contains {token}, but there is no token_env or token_file".into());
        }
        Ok(Post { url, token, body })
    }

    fn webhook_body(&self) -> Result<Body, String> {
        if let Some(text) = &self.body {
            if self.format.is_some() {
                return Err("set format or body, not both".to_owned());
            }
            if let Some(word) = body::unknown_word(text) {
                return Err(format!("body: unknown word {{{word}}}"));
            }
            let content_type =
                self.content_type.clone().unwrap_or_else(|| "application/json".to_owned());
            if !content_type.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
                return Err("content_type has characters that a header must not have".to_owned());
            }
            return Ok(Body::Template { text: text.clone(), content_type });
        }
        let format = match (self.format, &self.chat) {
            (Some(Shape::Telegram), Some(chat)) => Format::Telegram {
                chat: match chat {
                    Number::Number(number) => number.to_string(),
                    Number::Text(text) => text.clone(),
                },
            },
            (Some(Shape::Telegram), None) => {
                return Err("format \"telegram\" needs chat = \"…\"".to_owned());
            }
            (_, Some(_)) => return Err("chat is only for format \"telegram\"".to_owned()),
            (None | Some(Shape::Json), None) => Format::Json,
            (Some(Shape::Slack), None) => Format::Slack,
            (Some(Shape::Discord), None) => Format::Discord,
        };
        Ok(Body::Format(format))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn everything_that_may_be_said() {
        let text = r#"
            [[notify]]
            kind = "desktop"
            on = ["waiting", "done", "error", "limited", "crashed", "stuck", "looping", "question", "job", "drift"]
            project = "shop"
            tag = ["urgent"]
            agent = ["claude", "codex"]
            session = "fix-*"
            dialog = ["permission", "plan"]
            after = "30s"
            quiet = ["22:00-07:00", "sun"]
            unless_attached = "session"
            batch = 2

            [[notify]]
            kind = "webhook"
            name = "phone"
            url = "https://api.telegram.org/bot{token}/sendMessage"
            token_file = "bot"
            format = "telegram"
            chat = -100123

            [[notify]]
            kind = "webhook"
            url_file = "url"
            body = '{"m": "{title}"}'

            [[notify]]
            kind = "ntfy"
            url = "https://ntfy.example.org/agents"
            priority = 4
            ntfy_tags = ["robot"]

            [[notify]]
            kind = "mqtt"

            [[notify]]
            kind = "tmux"
        "#;
        let rules = parse(text).unwrap().notify_rules();
        assert_eq!(rules.len(), 6);
        assert_eq!((rules[0].on.len(), rules[0].after), (10, Duration::from_secs(30)));
        assert_eq!(rules[0].filter.dialog, [WaitFor::Permission, WaitFor::Plan]);
        assert_eq!(rules[0].batch, Duration::from_secs(2));
        assert_eq!(rules[0].unless_attached, Some(UnlessAttached::Session));
        assert_eq!((rules[1].channel_id().as_str(), rules[1].batch), ("phone", BATCH));
        let ids: Vec<_> = rules.iter().map(|rule| rule.channel.kind()).collect();
        assert_eq!(ids, ["desktop", "webhook", "webhook", "ntfy", "mqtt", "tmux"]);
        assert_eq!(rules[4].channel, Channel::Mqtt { topic: "notify".into() });
    }

    #[test]
    fn mistakes() {
        let table = [
            ("kind = 'bell'\non = ['never']", "unknown variant"),
            ("kind = 'bell'\nafter = 'soon'", "after: \"soon\" is not a duration"),
            ("kind = 'bell'\nquiet = 'night'", "quiet: \"night\""),
            ("kind = 'bell'\ndialog = 'menu'", "expected permission"),
            ("kind = 'bell'\nproject = 3", "expected a string or a list"),
            ("kind = 'bell'\nunless_attached = 'maybe'", "unknown variant"),
            ("kind = 'bell'\nbatch = '1h'", "batch must be at most 10 minutes"),
            ("kind = 'bell'\ntopic = 'x'", "does not take topic"),
            ("kind = 'desktop'\nformat = 'slack'", "does not take format"),
            ("kind = 'webhook'\nurl = 'http://x'\nbody = '{titel}'", "unknown word {titel}"),
            ("kind = 'webhook'\nurl = 'http://x'\nformat = 'telegram'", "needs chat"),
            ("kind = 'webhook'\nurl = 'http://x'\nchat = 1", "only for format \"telegram\""),
            ("kind = 'webhook'\nurl = 'http://x'\nurl_env = 'X'", "one of url, url_env"),
            ("kind = 'webhook'\nurl = 'http://x/{token}'", "no token_env or token_file"),
            ("kind = 'webhook'\nurl = 'http://x'\ncontent_type = 'a'", "content_type without body"),
            ("kind = 'ntfy'\nurl = 'https://ntfy.sh'", "topic"),
            ("kind = 'ntfy'\nurl = 'https://ntfy.sh/x'\npriority = 6", "priority must be"),
            ("kind = 'mqtt'\ntopic = 'a/#'", "invalid topic"),
        ];
        for (table, says) in table {
            let error = parse(&format!("[[notify]]\n{table}\n")).unwrap_err();
            assert!(error.problem.contains(says), "{table}: {error}");
        }
    }
}
