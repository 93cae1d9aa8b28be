//! The skill, where real agents look for it: they offer it to their model.

use std::time::Duration;

use model_double::Options;
use model_double::homes::Agent;

use crate::lab::Lab;

/// The beginning of the skill's description.
const DESCRIPTION: &str = "Start, supervise and collect results from other AI coding agents";

fn is_offered(agent: Agent, place: &str) {
    let options = Options { log_bodies: true, ..Options::default() };
    let Some(lab) = Lab::with(agent, &options) else { return };
    let written = lab.dogwatch(&["install-skill", agent.name(), place]).success().text();
    lab.spawn(&[]);
    let _sent = lab.dogwatch(&["send", "a", "Hello?", "--timeout", "60s"]).success();
    let asked = lab.double.wait_until(Duration::from_secs(30), |requests| {
        requests.iter().any(|request| request.question.as_ref().is_some_and(|q| !q.side))
    });
    let bodies: Vec<String> = asked
        .unwrap_or_default()
        .iter()
        .filter_map(|request| Some(request.body.as_ref()?.to_string()))
        .collect();
    let count = |body: &String| body.matches(DESCRIPTION).count();
    assert!(bodies.iter().any(|body| count(body) == 1), "{written}: {bodies:#?}");
    let _removed = lab.dogwatch(&["install-skill", agent.name(), place, "--remove"]).success();
}

#[test]
fn claude_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Claude, place);
    }
}

#[test]
fn codex_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Codex, place);
    }
}

#[test]
fn gemini_offers_the_skill() {
    for place in ["--user", "--project"] {
        is_offered(Agent::Gemini, place);
    }
}
