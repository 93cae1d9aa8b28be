use dogwatch_testkit::eventually;
use model_double::homes::Agent;

use crate::lab::Lab;

/// Everything a shell or tmux could trip over; no tag of the scenario in it.
const NASTY: &str = "--help 'single' \"double\" `back` $(echo no) ${HOME} $HOME !! ; | & < > ( ) { } [ ] * ? ~ # % ^ = + , . / \\ \
     #{pid} #(date) %1 @0 \u{1F436} 日本語 é\nsecond line\n\n\tindented; kill-server\nlast line \\;";

fn arrives(agent: Agent, prompt: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--prompt", prompt]);
    eventually("the model is asked", || !lab.asked().is_empty());
    assert_eq!(lab.asked()[0], prompt);
    lab.end(&["--now"]);
}

#[test]
fn claude_gets_a_nasty_prompt_as_it_is() {
    arrives(Agent::Claude, NASTY);
}

#[test]
fn codex_gets_a_nasty_prompt_as_it_is() {
    arrives(Agent::Codex, NASTY);
}

#[test]
fn a_prompt_that_is_a_subcommand_is_a_prompt() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--prompt", "doctor"]);
    eventually("the model is asked", || !lab.asked().is_empty());
    assert_eq!(lab.asked()[0].trim_end(), "doctor");
    lab.end(&["--now"]);
}

#[test]
fn a_shell_command_is_no_prompt_for_codex() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let refused = lab.dogwatch(&["spawn", "codex", "--prompt", " !touch gotcha"]).code(2);
    assert!(refused.to_string().contains("would run as a command"), "{refused}");
    assert!(!lab.env.work().join("gotcha").exists());
    assert_eq!(lab.dogwatch(&["ls", "--all", "--json"]).json()["sessions"], serde_json::json!([]));
}

#[test]
fn a_private_prompt_is_in_no_process_list_and_is_read_from_its_file() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = Lab::new(agent) else { return };
        let secret = "the unannounced product is called Zweibrücken";
        let session = lab.spawn(&["--private-prompt", "--prompt", secret]);
        let argv = std::fs::read(format!("/proc/{}/cmdline", session.pid)).unwrap_or_default();
        eventually("the model is asked", || !lab.asked().is_empty());
        let told = lab.asked().remove(0);
        let kept = lab.env.session_dir(&session).join("prompt");
        assert!(told.contains(&*kept.to_string_lossy()) && !told.contains(secret), "{told}");
        assert_eq!(std::fs::read_to_string(kept).unwrap(), secret);
        assert!(!String::from_utf8_lossy(&argv).contains(secret));
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(secret), "{line}");
        }
        lab.end(&["--now"]);
    }
}

#[test]
fn a_megabyte_of_prompt_is_read_from_its_file() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = Lab::new(agent) else { return };
        let file = lab.env.write("long.md", "word ".repeat(200_000));
        let session = lab.spawn(&["--prompt-file", &file.to_string_lossy()]);
        eventually("the model is asked", || !lab.asked().is_empty());
        let told = lab.asked().remove(0);
        let kept = lab.env.session_dir(&session).join("prompt");
        assert!(told.contains(&*kept.to_string_lossy()), "{told}");
        assert_eq!(std::fs::metadata(kept).unwrap().len(), 1_000_000);
        lab.end(&["--now"]);
    }
}
