//! Several notifications in one.

use std::fmt::Write as _;

use serde_json::Value;

use crate::notice::{Notice, Occasion};

/// The notification to send for these, oldest first; `None` if there are none.
pub fn combine(mut notices: Vec<Notice>) -> Option<Notice> {
    if notices.len() < 2 {
        return notices.pop();
    }
    let newest = notices.iter().max_by_key(|notice| notice.at)?;
    let (at, host) = (newest.at, newest.host.clone());
    let title = format!("{} notifications: {}", notices.len(), counts(&notices));
    let text = notices.iter().fold(String::new(), |mut text, notice| {
        let _ = writeln!(text, "- {}", notice.title);
        text
    });
    let text = text.trim_end().to_owned();
    let first = notices[0].session.clone();
    let session = first.filter(|name| notices.iter().all(|one| one.session.as_ref() == Some(name)));
    let occasion = Occasion::Several;
    Some(Notice { occasion, at, host, title, text, session, data: Value::Null, several: notices })
}

/// `2 waiting, 1 done`, in the order of the first of each.
fn counts(notices: &[Notice]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in notices.iter().map(|notice| words(notice.occasion)) {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<_> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    parts.join(", ")
}

fn words(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::EscalationRaised => "decision needed",
        Occasion::EscalationAnswered => "answered",
        Occasion::JobDone => "job done",
        Occasion::JobFailed => "job failed",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn notice(occasion: Occasion, title: &str, session: &str, second: i64) -> Notice {
        Notice {
            occasion,
            at: Timestamp::from_second(second).unwrap(),
            host: "desk".into(),
            title: title.into(),
            text: "long".into(),
            session: Some(session.into()),
            data: Value::Null,
            several: Vec::new(),
        }
    }

    #[test]
    fn one_stays_as_it_is_and_several_become_a_list() {
        assert_eq!(combine(Vec::new()), None);
        let one = notice(Occasion::Done, "a: done", "a", 1);
        assert_eq!(combine(vec![one.clone()]), Some(one.clone()));
        let both = vec![
            notice(Occasion::Waiting, "b: waits", "b", 5),
            one,
            notice(Occasion::Waiting, "c: waits", "c", 3),
        ];
        let all = combine(both.clone()).unwrap();
        assert_eq!(all.title, "3 notifications: 2 waiting, 1 done");
        assert_eq!(all.text, "- b: waits\n- a: done\n- c: waits");
        assert_eq!((all.at.as_second(), all.session, all.occasion), (5, None, Occasion::Several));
        assert_eq!(all.several, both);
        let same = vec![both[1].clone(), both[1].clone()];
        assert_eq!(combine(same).unwrap().session.as_deref(), Some("a"));
    }
}
