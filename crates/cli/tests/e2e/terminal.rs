//! What agents, repositories and other hosts write cannot do anything to a terminal but be read there.

use dogwatch_testkit::TestEnv;

const HOSTILE: &str = "fix \u{202e}gnirts\u{202c} \u{200b}x\u{2066}y\u{2069} \u{9b}2J \u{e0041}\u{7f} \x1b]0;title\x07 end";

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
}

#[test]
fn hostile_texts_are_shown_and_not_obeyed() {
    let env = TestEnv::new();
    let prompt = format!("printf '%s' '{HOSTILE}'; exec sleep 300");
    let one = env.spawn_script("one", &prompt);
    let submitted = env.dogwatch(&["job", "submit", "one", HOSTILE]);
    let _ = env.dogwatch(&["escalations", "raise", "budget", HOSTILE, "--run", "a"]).success();
    let mut said = vec![format!(": {}{}", submitted.text(), submitted.stderr)];
    let commands: [&[&str]; 10] = [
        &["ls"],
        &["status"],
        &["why", "one"],
        &["job", "ls"],
        &["messages"],
        &["events"],
        &["escalations", "ls"],
        &["kill", HOSTILE],
        &["send", HOSTILE, "x"],
        &["spawn", "--cwd", HOSTILE, "--", "true"],
    ];
    for args in commands {
        let output = env.dogwatch(args);
        said.push(format!("{args:?}: {}{}", output.text(), output.stderr));
    }
    for said in said {
        // Before the colon are our own words.
        let text = said.split_once(": ").map_or(said.as_str(), |(_, text)| text);
        assert!(!text.chars().any(is_hidden), "{text:?}");
    }
    // JSON says the same as ever, with such characters as escapes.
    let json = env.dogwatch(&["job", "ls", "--json"]);
    assert!(!json.text().chars().any(is_hidden), "{:?}", json.text());
    let value = json.json();
    assert!(
        value.to_string().contains('\u{202e}')
            || value["jobs"].as_array().is_none_or(Vec::is_empty)
    );
    let _ = env.dogwatch(&["kill", &one.name, "--now"]).success();
}
