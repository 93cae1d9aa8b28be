//! Notification channels. Each has a time limit, and the sender waits no longer than that.

mod bell;
pub(super) mod clients;
mod command;
mod desktop;
mod mqtt;
mod tmux_message;
mod webhook;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_core::notify::{Channel, Post, Rule};
use jiff::Timestamp;
use serde::Serialize;

use crate::Context;

/// Why a channel that needs an attached person did nothing.
pub(super) const NO_CLIENT: &str = "no client is attached to tmux";

/// One channel.
pub trait Sink: Send {
    /// Sends the notification within the limit; else returns why not.
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String>;
}

/// A channel with its name and its time limit.
pub(super) struct Timed {
    pub(super) label: String,
    pub(super) sink: Box<dyn Sink>,
    pub(super) limit: Duration,
}

impl Timed {
    pub(super) fn new(context: &Context, rule: &Rule) -> Self {
        let folder = || Some(context.config.as_deref()?.parent()?.to_owned());
        let webhook = |post: &Post| webhook::Webhook { post: post.clone(), folder: folder() };
        let sink: Box<dyn Sink> = match &rule.channel {
            Channel::Bell => Box::new(bell::Bell::new(&context.tmux)),
            Channel::Desktop => Box::new(desktop::Desktop::new(&context.tmux)),
            Channel::Tmux(shown) => Box::new(tmux_message::TmuxMessage::new(&context.tmux, *shown)),
            Channel::Command(words) => Box::new(command::Command { words: words.clone() }),
            Channel::Webhook(post) | Channel::Ntfy(post) => Box::new(webhook(post)),
            Channel::Mqtt { topic } => Box::new(mqtt::Mqtt {
                dogwatch: context.dogwatch.clone(),
                state: context.state.root().to_owned(),
                topic: topic.clone(),
            }),
        };
        Self { label: rule.label(), sink, limit: rule.limit }
    }
}

/// A notification from this host, now.
pub fn notice(occasion: Occasion, title: String, text: String, data: &impl Serialize) -> Notice {
    let data = serde_json::to_value(data).unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let (at, several) = (Timestamp::now(), Vec::new());
    Notice { occasion, at, host, title, text, session: None, data, several }
}

/// The result of one channel, and how long it took.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) label: String,
    pub(super) result: Result<(), String>,
    pub(super) took: Duration,
}

/// Sends notifications in parallel, each on its channel; the results are in the same order. No channel takes longer than its limit.
pub(super) fn send_all(sinks: Vec<(Timed, Notice)>) -> Vec<Tried> {
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let mut open = Vec::new();
    for (place, (Timed { label, sink, limit }, notice)) in sinks.into_iter().enumerate() {
        open.push((label, limit, None));
        let result = sender.clone();
        // On a thread: a host name lookup cannot be interrupted, so a slow channel is abandoned.
        let send = move || drop(result.send((place, sink.send(&notice, limit))));
        if let Err(error) = thread::Builder::new().name("notify".to_owned()).spawn(send) {
            let _ = sender.send((place, Err(format!("cannot start a thread: {error}"))));
        }
    }
    drop(sender);
    let longest = open.iter().map(|(_, limit, _)| *limit).max().unwrap_or_default();
    // Slightly longer than the channels' own limits, so that they can report their error.
    let until = begun + longest + Duration::from_millis(500);
    while open.iter().any(|(.., result)| result.is_none()) {
        let left = until.saturating_duration_since(Instant::now());
        let Ok((place, result)) = receiver.recv_timeout(left) else { break };
        open[place].2 = Some((result, begun.elapsed()));
    }
    let tried = |(label, limit, result): (String, Duration, Option<_>)| {
        let late = || (Err(format!("timeout after {} s", limit.as_secs())), begun.elapsed());
        let (result, took) = result.unwrap_or_else(late);
        Tried { label, result, took }
    };
    open.into_iter().map(tried).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    struct Fake(Duration, Result<(), String>);

    impl Sink for Fake {
        fn send(&self, _: &Notice, _: Duration) -> Result<(), String> {
            // sleep: a slow channel is what this test is about.
            thread::sleep(self.0);
            self.1.clone()
        }
    }

    #[test]
    fn a_slow_channel_does_not_delay_the_caller_beyond_its_limit() {
        let notice = notice(Occasion::Drift, "t".into(), String::new(), &Value::Null);
        let fake = |sleep, result| {
            let sink = Box::new(Fake(Duration::from_secs(sleep), result));
            (Timed { label: "fake".into(), sink, limit: Duration::ZERO }, notice.clone())
        };
        let begun = Instant::now();
        let sinks = vec![fake(0, Ok(())), fake(60, Ok(())), fake(0, Err("no".to_owned()))];
        let results: Vec<_> = send_all(sinks).into_iter().map(|tried| tried.result).collect();
        let failed = |text: &str| Err(text.to_owned());
        assert_eq!(results, [Ok(()), failed("timeout after 0 s"), failed("no")]);
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(send_all(Vec::new()).is_empty());
    }
}
