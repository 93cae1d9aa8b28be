//! A channel: where notifications go, without the rule that says which.

use std::fmt;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::web_address;

/// Where a notification goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    Bell,
    Desktop,
    /// A message in the status line of attached tmux clients, shown so long.
    Tmux(Duration),
    /// A program and its arguments.
    Command(Vec<String>),
    Webhook(Post),
    Ntfy(Post),
    Mqtt {
        /// Below the prefix and the name of this host, unless it begins with a slash.
        topic: String,
    },
}

/// What is posted, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub url: Secret,
    pub token: Option<Secret>,
    pub body: Body,
}

/// A value that may be a secret, so that it can be kept out of the configuration.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    Plain(String),
    Env(String),
    /// Relative to the configuration file.
    File(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Format(Format),
    Template { text: String, content_type: String },
    Ntfy { priority: Option<u8>, tags: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// The notification as JSON.
    Json,
    Slack,
    Discord,
    Telegram {
        chat: String,
    },
}

impl Channel {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Desktop => "desktop",
            Self::Tmux(_) => "tmux",
            Self::Command(_) => "command",
            Self::Webhook(_) => "webhook",
            Self::Ntfy(_) => "ntfy",
            Self::Mqtt { .. } => "mqtt",
        }
    }

    /// Identifies the channel over changes of the rules that use it. Two tables with the same target are one channel.
    pub fn id(&self) -> String {
        let target = match self {
            Self::Bell | Self::Desktop | Self::Tmux(_) => return self.kind().to_owned(),
            Self::Command(words) => words.join("\0"),
            Self::Webhook(post) | Self::Ntfy(post) => post.identity(),
            Self::Mqtt { topic } => topic.clone(),
        };
        let digest = Sha256::digest(target);
        let number = digest.iter().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        format!("{}-{number:08x}", self.kind())
    }

    /// The name in messages; it has no secrets.
    pub fn label(&self) -> String {
        match self {
            Self::Bell | Self::Desktop | Self::Tmux(_) => self.kind().to_owned(),
            Self::Command(words) => {
                format!("command {}", words.first().map_or("", String::as_str))
            }
            Self::Webhook(post) | Self::Ntfy(post) => {
                format!("{} {}", self.kind(), post.url.host()).trim_end().to_owned()
            }
            Self::Mqtt { topic } => format!("mqtt {topic}"),
        }
    }
}

impl Post {
    /// Channels are stored by a hash of this text, and what waits for one must find it after an upgrade: each part is named here, and
    /// none may change. The form is that of the first version. A new part is added where it is set, and nowhere else.
    fn identity(&self) -> String {
        let Self { url, token, body } = self;
        let token = match token {
            Some(token) => format!("Some({})", token.identity()),
            None => "None".to_owned(),
        };
        format!("Post {{ url: {}, token: {token}, body: {} }}", url.identity(), body.identity())
    }
}

impl Body {
    fn identity(&self) -> String {
        match self {
            Self::Format(Format::Json) => "Format(Json)".to_owned(),
            Self::Format(Format::Slack) => "Format(Slack)".to_owned(),
            Self::Format(Format::Discord) => "Format(Discord)".to_owned(),
            Self::Format(Format::Telegram { chat }) => {
                format!("Format(Telegram {{ chat: {} }})", quoted(chat))
            }
            Self::Template { text, content_type } => format!(
                "Template {{ text: {}, content_type: {} }}",
                quoted(text),
                quoted(content_type)
            ),
            Self::Ntfy { priority, tags } => {
                let priority = match priority {
                    Some(priority) => format!("Some({priority})"),
                    None => "None".to_owned(),
                };
                let tags: Vec<String> = tags.iter().map(|tag| quoted(tag)).collect();
                format!("Ntfy {{ priority: {priority}, tags: [{}] }}", tags.join(", "))
            }
        }
    }
}

/// A text as Rust writes it in a program.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Without what may be secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => write!(f, "Plain(…)"),
            Self::Env(name) => write!(f, "Env({name})"),
            Self::File(file) => write!(f, "File({file})"),
        }
    }
}

impl Secret {
    fn identity(&self) -> String {
        match self {
            Self::Plain(value) => format!("Plain({})", quoted(value)),
            Self::Env(name) => format!("Env({})", quoted(name)),
            Self::File(file) => format!("File({})", quoted(file)),
        }
    }

    /// The host of an address, as far as the configuration says it.
    fn host(&self) -> String {
        match self {
            Self::Plain(url) => {
                // The place of the token makes no address.
                let url = url.replace("{token}", "token");
                let url = web_address::parse(&url).unwrap_or_default();
                web_address::host(&url).to_owned()
            }
            Self::Env(name) => format!("${name}"),
            Self::File(file) => file.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_secrets() {
        let post = |url: Secret| Post { url, token: None, body: Body::Format(Format::Slack) };
        let plain = |url: &str| post(Secret::Plain(url.to_owned()));
        let hook = Channel::Webhook(plain("https://api.telegram.org/bot{token}/sendMessage"));
        assert_eq!(hook.label(), "webhook api.telegram.org");
        let hidden = Channel::Webhook(post(Secret::File("slack-url".into())));
        assert_eq!(hidden.label(), "webhook slack-url");
        let other = Channel::Webhook(plain("https://hooks.example.org/s3cret"));
        assert_eq!(other.label(), "webhook hooks.example.org");
        assert!(!other.id().contains("s3cret"));
        assert_ne!(hook.id(), other.id());
        assert_eq!(Channel::Desktop.id(), "desktop");
        let command =
            |words: &[&str]| Channel::Command(words.iter().map(|w| (*w).into()).collect());
        assert_ne!(command(&["a", "b"]).id(), command(&["a", "c"]).id());
        assert_eq!(command(&["a", "b"]).id(), command(&["a", "b"]).id());
    }

    /// As version 0.1 had them: what waits under these names in a database is sent after an upgrade, and not a second time.
    #[test]
    fn identities_never_change() {
        let text = |text: &str| text.to_owned();
        let plain = |url: &str| Secret::Plain(url.to_owned());
        let table = [
            (
                Channel::Webhook(Post {
                    url: plain("https://hooks.example.org/s3cret"),
                    token: None,
                    body: Body::Format(Format::Slack),
                }),
                "webhook-1ef7b614",
            ),
            (
                Channel::Webhook(Post {
                    url: Secret::Env(text("HOOK_URL")),
                    token: Some(Secret::File(text("token"))),
                    body: Body::Format(Format::Telegram { chat: text("42") }),
                }),
                "webhook-2311c644",
            ),
            (
                Channel::Webhook(Post {
                    url: Secret::File(text("a \"b\".url")),
                    token: Some(plain("t")),
                    body: Body::Template {
                        text: text("{title}\nü"),
                        content_type: text("text/plain"),
                    },
                }),
                "webhook-1b83cad5",
            ),
            (
                Channel::Ntfy(Post {
                    url: plain("https://ntfy.example.org/x"),
                    token: None,
                    body: Body::Ntfy { priority: Some(5), tags: vec![text("a"), text("b")] },
                }),
                "ntfy-2c049b1c",
            ),
        ];
        for (channel, id) in table {
            assert_eq!(channel.id(), id, "{channel:?}");
            assert!(!format!("{channel:?}").contains("s3cret"), "a log must not have it");
        }
    }
}
