use std::cell::Cell;
use std::time::Instant;

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::real_claude::{PATIENCE, RealClaude, wrong};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const SEND: &str = "dogwatch send, to its proof";
const FIRST: &str = "dogwatch spawn and send, to the proof";

/// A message to the real Claude Code: at its prompt, and while it still starts. Nothing if it is not installed.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Vec<Group>, Error> {
    let Some(claude) = RealClaude::find(world)? else { return Ok(Vec::new()) };
    Ok(vec![at_its_prompt(&claude, rounds)?, while_it_starts(&claude, rounds)?])
}

/// Pasted and submitted blindly until the model is asked, against `send` until it has proof that the text was taken.
fn at_its_prompt(claude: &RealClaude<'_>, rounds: usize) -> Result<Group, Error> {
    child::run(&mut claude.dogwatch(&["spawn", "claude", "--name", "a", "--unattended"]))?
        .success()?;
    let idle = || {
        let words = ["wait", "a", "--for", "idle", "--timeout", "60s"];
        child::run(&mut claude.dogwatch(&words))?.success().map(drop)
    };
    idle()?;
    let listed = child::run(&mut claude.world.tmux(["list-panes", "-a", "-F", "#{pane_id}"]))?;
    let pane = listed.success()?.text();
    let count = Cell::new(0_u32);
    let text = || {
        count.set(count.get() + 1);
        format!("message {}", count.get())
    };
    let blind = || {
        let text = text();
        let begun = Instant::now();
        let words =
            ["set-buffer", "-b", "bench", "--", &text, ";", "paste-buffer", "-dpb", "bench"];
        let words = [&words[..], &["-t", &pane, ";", "send-keys", "-t", &pane, "Enter"]].concat();
        child::run(&mut claude.world.tmux(words))?.success()?;
        asked(claude, &text)?;
        let took = begun.elapsed();
        idle()?;
        Ok(took)
    };
    let ours = || {
        let text = text();
        let sent = child::run(&mut claude.dogwatch(&["send", "a", &text]))?.success()?;
        asked(claude, &text)?;
        idle()?;
        Ok(sent.took)
    };
    let contestants = vec![
        Contestant::new("tmux paste and Enter, until the model is asked", blind),
        Contestant::new(SEND, ours),
    ];
    let runners = race(claude.world, contestants, rounds)?;
    child::run(&mut claude.dogwatch(&["kill", "a"]))?.success()?;
    Ok(Group { title: "send, at its prompt".into(), runners, targets: Vec::new() })
}

/// The agent's own start until its prompt can be seen, against `spawn` and `send` one after the other until the proof.
fn while_it_starts(claude: &RealClaude<'_>, rounds: usize) -> Result<Group, Error> {
    let bare = || {
        let (pane, took) = claude.start_bare(&["new-session", "-d", "-x", "200", "-y", "50"])?;
        child::run(&mut claude.world.tmux(["kill-pane", "-t", &pane]))?.success()?;
        Ok(took)
    };
    let ours = || {
        let words = ["spawn", "claude", "--name", "b", "--unattended"];
        let spawned = child::run(&mut claude.dogwatch(&words))?.success()?;
        let sent = child::run(&mut claude.dogwatch(&["send", "b", "the first message"]))?;
        let took = spawned.took + sent.success()?.took;
        child::run(&mut claude.dogwatch(&["kill", "b"]))?.success()?;
        Ok(took)
    };
    let contestants = vec![
        Contestant::new("claude in a bare session, to its prompt", bare),
        Contestant::new(FIRST, ours),
    ];
    Ok(Group {
        title: "send, while it starts".into(),
        runners: race(claude.world, contestants, rounds)?,
        targets: vec![Target { runner: FIRST, goal: Goal::Longer(1000.0) }],
    })
}

/// Waits until the model was asked about a text.
fn asked(claude: &RealClaude<'_>, text: &str) -> Result<(), Error> {
    let is_asked = claude.double.wait_until(PATIENCE, |requests| {
        requests
            .iter()
            .rev()
            .filter_map(|request| request.question.as_ref())
            .any(|question| question.human == text)
    });
    is_asked.map(drop).ok_or_else(|| wrong("the model was never asked"))
}
