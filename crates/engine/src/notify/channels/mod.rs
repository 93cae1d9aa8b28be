//! Notification channels. Each has a time limit, and the caller waits no longer than that. A channel that fails is reported and
//! recorded in the journal; it never fails the command.

mod bell;
mod command;
mod desktop;
mod webhook;

use dogwatch_protocol::event_data::NotTold;
use serde::Serialize;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::config::{Notify, Way};
use dogwatch_core::event::kind;
use dogwatch_core::notice::{Notice, Occasion};
use jiff::Timestamp;

use crate::notify::outward;
use crate::{Context, config};

/// Limit for the bell, which needs no network.
const BELL: Duration = Duration::from_secs(2);

/// One channel.
pub trait Sink: Send {
    /// Its name in messages.
    fn name(&self) -> String;
    /// Sends the notification within the limit; else returns why not.
    fn send(&self, notice: &Notice, limit: Duration) -> Result<(), String>;
}

/// A channel with its time limit.
struct Timed {
    sink: Box<dyn Sink>,
    limit: Duration,
}

/// Sends a notification on all channels for its occasion, in parallel. Returns the failures, which are in the journal too.
pub fn notify(context: &Context, notice: &Notice) -> Vec<String> {
    let notice = &outward::notice(notice);
    let (sinks, mut problems) = match config::read(context) {
        Ok(config) => (wanted(context, &config.notify, notice.occasion), Vec::new()),
        // The configured channels are unknown, and a person must be notified nevertheless.
        Err(error) => (wanted(context, &[], notice.occasion), vec![error.to_string()]),
    };
    problems.extend(send_all(sinks, notice));
    if !problems.is_empty()
        && let Ok(mut store) = context.store()
    {
        let data = NotTold {
            occasion: notice.occasion,
            title: notice.title.clone(),
            problems: problems.clone(),
        };
        store
            .record_event(Timestamp::now(), notice.session.as_deref(), kind::NOT_TOLD, &data)
            .logged("write an event");
    }
    problems
}

/// A notification from this host, now.
pub fn notice(occasion: Occasion, title: String, text: String, data: &impl Serialize) -> Notice {
    let data = serde_json::to_value(data).unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Notice { occasion, at: Timestamp::now(), host, title, text, session: None, data }
}

fn wanted(context: &Context, notify: &[Notify], occasion: Occasion) -> Vec<Timed> {
    let bell = || Timed { sink: Box::new(bell::Bell::new(&context.tmux)), limit: BELL };
    if notify.is_empty() {
        return if occasion == Occasion::EscalationRaised { vec![bell()] } else { Vec::new() };
    }
    let all = notify.iter().filter(|one| one.on.contains(&occasion));
    all.map(|one| match one.kind.get_ref() {
        Way::Bell => bell(),
        Way::Desktop => Timed { sink: Box::new(desktop::Desktop), limit: one.limit() },
        Way::Command => {
            let sink = command::Command { words: one.command.clone() };
            Timed { sink: Box::new(sink), limit: one.limit() }
        }
        Way::Webhook => {
            let sink = webhook::Webhook {
                url: one.url.clone().unwrap_or_default(),
                token_env: one.token_env.clone(),
                token_file: one.token_file.as_ref().map(|file| beside(context, file)),
            };
            Timed { sink: Box::new(sink), limit: one.limit() }
        }
    })
    .collect()
}

/// A path from the configuration, relative to the configuration file.
fn beside(context: &Context, file: &str) -> std::path::PathBuf {
    let folder = context.config.as_deref().and_then(std::path::Path::parent);
    folder.map_or_else(|| file.into(), |folder| folder.join(file))
}

fn send_all(sinks: Vec<Timed>, notice: &Notice) -> Vec<String> {
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let mut open: Vec<Option<(String, Duration)>> = Vec::new();
    for (place, Timed { sink, limit }) in sinks.into_iter().enumerate() {
        open.push(Some((sink.name(), limit)));
        let (result, notice) = (sender.clone(), notice.clone());
        // On a thread: a host name lookup cannot be interrupted, so a slow channel is abandoned.
        let send = move || drop(result.send((place, sink.send(&notice, limit))));
        if let Err(error) = thread::Builder::new().name("notify".to_owned()).spawn(send) {
            let _ = sender.send((place, Err(format!("cannot start a thread: {error}"))));
        }
    }
    drop(sender);
    let mut problems = Vec::new();
    let longest = open.iter().flatten().map(|(_, limit)| *limit).max().unwrap_or_default();
    // Slightly longer than the channels' own limits, so that they can report their error.
    let until = begun + longest + Duration::from_millis(500);
    while open.iter().any(Option::is_some) {
        let left = until.saturating_duration_since(Instant::now());
        let Ok((place, result)) = receiver.recv_timeout(left) else { break };
        if let (Some((name, _)), Err(problem)) = (open[place].take(), result) {
            problems.push(format!("{name}: {problem}"));
        }
    }
    let late =
        |(name, limit): (String, Duration)| format!("{name}: timeout after {} s", limit.as_secs());
    problems.extend(open.into_iter().flatten().map(late));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    struct Fake(Duration, Result<(), String>);

    impl Sink for Fake {
        fn name(&self) -> String {
            "fake".to_owned()
        }
        fn send(&self, _: &Notice, _: Duration) -> Result<(), String> {
            // sleep: a slow channel is what this test is about.
            thread::sleep(self.0);
            self.1.clone()
        }
    }

    #[test]
    fn a_slow_channel_does_not_delay_the_caller_beyond_its_limit() {
        let notice = notice(Occasion::Drift, "t".into(), String::new(), &Value::Null);
        let fake = |sleep, result| Timed {
            sink: Box::new(Fake(Duration::from_secs(sleep), result)),
            limit: Duration::ZERO,
        };
        let begun = Instant::now();
        let sinks = vec![fake(0, Ok(())), fake(60, Ok(())), fake(0, Err("no".to_owned()))];
        let problems = send_all(sinks, &notice);
        assert_eq!(problems, ["fake: no", "fake: timeout after 0 s"]);
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(send_all(Vec::new(), &notice), [""; 0]);
    }
}
