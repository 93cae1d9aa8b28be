//! A channel: where notifications go, without the rule that says which.

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Self::Webhook(post) | Self::Ntfy(post) => format!("{post:?}"),
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

impl Secret {
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
}
