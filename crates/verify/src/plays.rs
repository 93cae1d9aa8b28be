//! The situations, in the order in which one session goes through them.

use std::time::Duration;

use dogwatch_core::status::WaitFor;
use dogwatch_protocol::verification::Start;

use crate::agent::Plan;
use crate::player::{Launch, Played, Player, Stopped};
use crate::truth::Truth;
use crate::world;

const DRAFT: &str = "esc to interrupt, do you want to proceed";

/// One session and the situations that it goes through.
#[derive(Clone, Copy)]
pub struct Play {
    pub name: &'static str,
    pub start: Start,
    /// Not played unless all are wanted.
    pub is_extra: bool,
    pub situations: &'static [&'static str],
    pub(crate) perform: fn(&mut Player<'_>) -> Played,
}

impl std::fmt::Debug for Play {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Play").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All plays, the longest first.
pub const PLAYS: [Play; 11] = [
    Play {
        name: "turns",
        start: Start::Spawned,
        is_extra: false,
        situations: &[
            "fresh",
            "draft",
            "streaming",
            "stalled",
            "finished",
            "between_paragraphs",
            "quotes",
            "quoted",
            "esc_early",
            "esc_late",
            "exit",
            "resumed",
            "resumed_turn",
        ],
        perform: turns,
    },
    Play {
        name: "dialogs",
        start: Start::Spawned,
        is_extra: false,
        situations: &["permission", "permission_yes", "permission_no", "question", "answered"],
        perform: dialogs,
    },
    Play {
        name: "failures",
        start: Start::Spawned,
        is_extra: false,
        situations: &["429", "recovered", "500", "401", "recovered_again"],
        perform: failures,
    },
    Play {
        name: "tools",
        start: Start::Spawned,
        is_extra: false,
        situations: &["long_tool", "after_tool", "background"],
        perform: tools,
    },
    Play {
        name: "jobs",
        start: Start::Spawned,
        is_extra: false,
        situations: &["job_done", "job_failed", "job_recovered"],
        perform: jobs,
    },
    Play {
        name: "by_hand",
        start: Start::ByHand,
        is_extra: false,
        situations: &[
            "fresh",
            "streaming",
            "finished",
            "between_paragraphs",
            "permission",
            "permission_yes",
            "429",
        ],
        perform: without_hooks,
    },
    Play {
        name: "command",
        start: Start::Command,
        is_extra: false,
        situations: &[
            "fresh",
            "streaming",
            "finished",
            "between_paragraphs",
            "permission",
            "permission_yes",
            "429",
        ],
        perform: without_hooks,
    },
    Play {
        name: "killed",
        start: Start::Spawned,
        is_extra: false,
        situations: &["prompted", "kill_9"],
        perform: killed,
    },
    Play {
        name: "plan",
        start: Start::Spawned,
        is_extra: false,
        situations: &["plan"],
        perform: plan,
    },
    Play {
        name: "trust",
        start: Start::Spawned,
        is_extra: false,
        situations: &["trust"],
        perform: trust,
    },
    Play {
        name: "pace",
        start: Start::Spawned,
        is_extra: true,
        situations: &["ten_turns"],
        perform: pace,
    },
];

fn unattended() -> Launch {
    Launch { unattended: true, ..Launch::default() }
}

/// An answer is held in mid-stream, then let go.
fn one_turn(player: &mut Player<'_>, tag: &str, held: &str, done: &str) -> Played {
    let mark = player.say(tag)?;
    player.at_gate()?;
    player.check(held, &Truth::Working)?;
    player.release();
    player.sent(&mark, 1)?;
    player.check(done, &Truth::FINISHED)
}

fn turns(player: &mut Player<'_>) -> Played {
    player.launch(&unattended())?;
    player.ready()?;
    player.check("fresh", &Truth::FRESH)?;
    player.write(DRAFT)?;
    player.check("draft", &Truth::with_draft(DRAFT))?;
    clear(player, DRAFT)?;

    let mark = player.say("[gate]")?;
    player.at_gate()?;
    player.check("streaming", &Truth::Working)?;
    player.pause(Duration::from_secs(if player.is_thorough() { 12 } else { 4 }))?;
    player.check("stalled", &Truth::Working)?;
    player.release();
    player.sent(&mark, 1)?;
    player.check("finished", &Truth::FINISHED)?;
    paragraphs(player)?;
    let quote = player.ways.quote;
    one_turn(player, quote, "quotes", "quoted")?;

    let mark = player.say("[silent-gate]")?;
    player.at_gate()?;
    // Not before it has drawn that it works: until then some ignore the key.
    player.pause(Duration::from_millis(500))?;
    interrupt(player, &mark)?;
    player.check("esc_early", &Truth::INTERRUPTED)?;
    clear(player, "[silent-gate] turn 99.")?;
    let mark = player.say("[gate]")?;
    player.at_gate()?;
    player.pause(Duration::from_millis(500))?;
    interrupt(player, &mark)?;
    player.check("esc_late", &Truth::INTERRUPTED)?;
    clear(player, "[gate] turn 99.")?;

    leave(player)?;
    player.check("exit", &Truth::Exited)?;
    resumed(player)
}

/// An answer pauses where a paragraph ends: nothing on the screen is unfinished then.
fn paragraphs(player: &mut Player<'_>) -> Played {
    let mark = player.say("[paragraph-gate]")?;
    player.at_gate()?;
    player.pause(Duration::from_secs(if player.is_thorough() { 30 } else { 5 }))?;
    player.check("between_paragraphs", &Truth::Working)?;
    player.release();
    player.sent(&mark, 1)
}

/// Presses Escape until it lets go of its model.
fn interrupt(player: &Player<'_>, mark: &str) -> Played {
    let before = player.interruptions();
    for _ in 0..3 {
        player.keys(&["Escape"])?;
        if player.hung_up_within(mark, before, Duration::from_secs(3)) {
            return Ok(());
        }
    }
    Err(Stopped("Escape does not interrupt it".to_owned()))
}

/// Takes as many letters out of the input box as a text has.
fn clear(player: &Player<'_>, text: &str) -> Played {
    let keys = vec!["BSpace"; text.chars().count()];
    player.keys(&keys)?;
    player.until("empty input box", Duration::from_secs(5), |player| {
        !player.box_has(&text.chars().take(12).collect::<String>())
    })
}

fn leave(player: &mut Player<'_>) -> Played {
    player.may_end();
    player.write(player.ways.exit)?;
    // Lists of commands come up for what is typed, and Enter takes what they mark.
    player.pause(Duration::from_millis(700))?;
    player.keys(&["Enter"])?;
    if player.ended_within(Duration::from_secs(3)) {
        return Ok(());
    }
    player.keys(&["Enter"])?;
    player.ended()
}

fn resumed(player: &mut Player<'_>) -> Played {
    if let Some(why) = player.ways.no_resume {
        player.not_applicable("resumed", why);
        player.not_applicable("resumed_turn", why);
        return Ok(());
    }
    let conversation = player.conversation();
    let resume = conversation.ok_or_else(|| Stopped("its conversation is not known".to_owned()))?;
    player.launch(&Launch { resume: Some(resume), ..unattended() })?;
    player.ready()?;
    player.check("resumed", &Truth::AT_PROMPT)?;
    let mark = player.say("[hello]")?;
    player.sent(&mark, 1)?;
    player.check("resumed_turn", &Truth::FINISHED)
}

fn dialogs(player: &mut Player<'_>) -> Played {
    player.launch(&Launch { with: vec![player.ways.careful], ..Launch::default() })?;
    player.ready()?;
    permission(player)?;
    let mark = player.say("[permission]")?;
    player.asks(&mark)?;
    player.keys(&["Escape"])?;
    // Some tell their model, some leave it at that.
    player.pause(Duration::from_millis(1500))?;
    player.check("permission_no", &Truth::AFTER_TURN)?;

    let mark = player.say("[ask]")?;
    if !player.offers(&mark, player.ways.ask_tools) {
        for name in ["question", "answered"] {
            player.not_applicable(name, "this version offers its model no tool to ask a question");
        }
        return Ok(());
    }
    if player.asks(&mark).is_err() {
        for name in ["question", "answered"] {
            player.not_applicable(name, "this version refuses to ask outside of a plan");
        }
        return Ok(());
    }
    player.check("question", &Truth::Waiting(WaitFor::Question))?;
    player.keys(&["Enter"])?;
    // A second page asks whether to submit.
    if player.sent_within(&mark, 2, Duration::from_secs(3)).is_err() {
        player.keys(&["Enter"])?;
    }
    player.sent(&mark, 2)?;
    player.check("answered", &Truth::FINISHED)
}

fn permission(player: &mut Player<'_>) -> Played {
    let mark = player.say("[permission]")?;
    player.asks(&mark)?;
    player.check("permission", &Truth::Waiting(WaitFor::Permission))?;
    player.keys(&["Enter"])?;
    player.sent(&mark, 2)?;
    player.check("permission_yes", &Truth::FINISHED)
}

fn failures(player: &mut Player<'_>) -> Played {
    if let Some(why) = player.ways.no_failures {
        for name in ["429", "recovered", "500", "401", "recovered_again"] {
            player.not_applicable(name, why);
        }
        return Ok(());
    }
    player.launch(&Launch { with: vec![player.ways.once], ..unattended() })?;
    player.ready()?;
    failure(player, "429", &Truth::Limited)?;
    recovers(player, "recovered")?;
    failure(player, "500", &Truth::Error)?;
    failure(player, "401", &Truth::Error)?;
    recovers(player, "recovered_again")
}

/// Its model refuses.
fn failure(player: &mut Player<'_>, code: &str, truth: &Truth) -> Played {
    let mark = player.say(&format!("[{code}]"))?;
    if player.gave_up(&mark)? {
        return player.check(code, truth);
    }
    player.not_applicable(code, "it tries again for longer than a verification takes");
    player.keys(&["Escape"])?;
    player.pause(Duration::from_secs(1))
}

fn recovers(player: &mut Player<'_>, name: &str) -> Played {
    let mark = player.say("[hello]")?;
    player.sent(&mark, 1)?;
    player.check(name, &Truth::FINISHED)
}

fn tools(player: &mut Player<'_>) -> Played {
    player.launch(&unattended())?;
    player.ready()?;
    let (began, may_end) =
        (player.world.file("tool-began.txt"), player.world.file("tool-may-end.txt"));
    let mark = player.say("[long-tool]")?;
    player.until("start of the command", Duration::from_secs(15), |_| began.exists())?;
    player.check("long_tool", &Truth::Working)?;
    world::write(&may_end, "")?;
    player.sent(&mark, 2)?;
    player.check("after_tool", &Truth::FINISHED)?;
    if let Some(why) = player.ways.no_background {
        player.not_applicable("background", why);
        return Ok(());
    }
    for file in [&began, &may_end] {
        std::fs::remove_file(file).map_err(|error| Stopped(error.to_string()))?;
    }
    let mark = player.say("[background]")?;
    player.until("start of the command", Duration::from_secs(15), |_| began.exists())?;
    player.sent(&mark, 2)?;
    player.check("background", &Truth::BACKGROUND)?;
    Ok(world::write(&may_end, "")?)
}

fn jobs(player: &mut Player<'_>) -> Played {
    player.launch(&Launch { with: vec![player.ways.once], ..unattended() })?;
    player.ready()?;
    player.check_job("job_done", "[hello] a job", true)?;
    if let Some(why) = player.ways.no_failures {
        player.not_applicable("job_failed", why);
        player.not_applicable("job_recovered", why);
        return Ok(());
    }
    player.check_job("job_failed", "[500] a job", false)?;
    player.check_job("job_recovered", "[hello] another job", true)
}

fn without_hooks(player: &mut Player<'_>) -> Played {
    let with = vec![player.ways.careful, player.ways.once];
    player.launch(&Launch { with, ..Launch::default() })?;
    player.ready()?;
    player.check("fresh", &Truth::FRESH)?;
    one_turn(player, "[gate]", "streaming", "finished")?;
    paragraphs(player)?;
    permission(player)?;
    if let Some(why) = player.ways.no_failures {
        player.not_applicable("429", why);
        return Ok(());
    }
    failure(player, "429", &Truth::Limited)
}

fn killed(player: &mut Player<'_>) -> Played {
    player.launch(&Launch { prompt: Some("[gate]"), ..unattended() })?;
    player.at_gate_within(Duration::from_secs(40))?;
    player.check("prompted", &Truth::Working)?;
    player.kill_9()?;
    player.check("kill_9", &Truth::Crashed(9))
}

fn plan(player: &mut Player<'_>) -> Played {
    let mark = match player.ways.plan {
        Plan::None(why) => {
            player.not_applicable("plan", why);
            return Ok(());
        }
        Plan::Args(args, tag) => {
            player.launch(&Launch { args, ..Launch::default() })?;
            player.ready()?;
            player.say(tag)?
        }
        Plan::Key(key, shown, tag) => {
            player.launch(&unattended())?;
            player.ready()?;
            player.keys(&[key])?;
            let is_shown = |player: &Player<'_>| player.screen().contains(shown);
            if player.until("plan mode", Duration::from_secs(8), is_shown).is_err() {
                player.not_applicable("plan", "this version has no plan mode");
                return Ok(());
            }
            player.say(tag)?
        }
    };
    player.asks(&mark)?;
    player.check("plan", &Truth::Waiting(WaitFor::Plan))
}

fn trust(player: &mut Player<'_>) -> Played {
    if let Some(why) = player.ways.no_trust {
        player.not_applicable("trust", why);
        return Ok(());
    }
    // Codex asks where a folder has settings for it or is a repository.
    let elsewhere = player.world.folder.join("elsewhere");
    world::write(&elsewhere.join(".codex/config.toml"), "")?;
    world::write(&elsewhere.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    player.launch(&Launch { cwd: Some(elsewhere), ..Launch::default() })?;
    player.until("question about trust", Duration::from_secs(40), |player| {
        player.screen().to_lowercase().contains("trust")
    })?;
    player.check("trust", &Truth::Waiting(WaitFor::Trust))
}

/// Turns one after the other, for the time that `watch` takes.
fn pace(player: &mut Player<'_>) -> Played {
    player.launch(&unattended())?;
    player.ready()?;
    for _ in 0..10 {
        let mark = player.say("[gate]")?;
        player.at_gate()?;
        player.pause(Duration::from_millis(700))?;
        player.release();
        player.sent(&mark, 1)?;
        player.pause(Duration::from_millis(900))?;
    }
    player.check("ten_turns", &Truth::FINISHED)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn situations_are_named_once_for_each_start() {
        let mut names = HashSet::new();
        for play in PLAYS {
            for name in play.situations {
                assert!(names.insert((play.start, *name)), "{name} is played twice");
            }
        }
    }
}
