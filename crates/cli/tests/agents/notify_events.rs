//! Each kind of event of a real agent is sent once, and nothing else is.

use std::fs;

use dogwatch_testkit::eventually_or;
use jiff::Timestamp;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// What was sent so far, oldest first.
fn sent(lab: &Lab) -> Vec<String> {
    let log = lab.dogwatch(&["notify", "log", "--json"]).success().json();
    let deliveries = log["deliveries"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<(Timestamp, String)> = deliveries
        .filter(|one| one["state"] == "sent")
        .map(|one| (text(&one["at"]).parse().unwrap(), text(&one["occasion"])))
        .collect();
    all.sort();
    all.into_iter().map(|(_, occasion)| occasion).collect()
}

#[test]
fn turns_failures_limits_and_questions_of_claude() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let folder = lab.env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let table = "[[notify]]\nkind = 'command'\ncommand = ['true']\n\
                 on = ['done', 'error', 'limited', 'question', 'stuck', 'looping', 'crashed']\n";
    fs::write(folder.join("config.toml"), table).unwrap();
    // A failure that is tried again is no event before the last try.
    lab.spawn(&["--prompt", "[hello]", "--env", "CLAUDE_CODE_MAX_RETRIES=0"]);
    // The question of an agent is a dialog that it waits at.
    let mut expected = vec!["done"];
    for (prompt, occasion) in [
        (None, None),
        (Some("[500]"), Some("error")),
        (Some("[429]"), Some("limited")),
        (Some("[ask]"), Some("waiting")),
    ] {
        expected.extend(occasion);
        if let Some(prompt) = prompt {
            let _ = lab.dogwatch(&["send", "a", prompt]).success();
        }
        eventually_or("each event is sent", || {
            let sent = sent(&lab);
            if sent == expected { Ok(()) } else { Err(format!("{sent:?}")) }
        });
    }
    lab.end(&["--now"]);
    assert_eq!(sent(&lab), expected, "a session that is killed on request is no event");
}
