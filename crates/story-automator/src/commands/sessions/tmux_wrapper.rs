//! `tmux-wrapper`: actions on sessions, and queries about the project.

use crate::decide::session::name as session_name;
use crate::session::agent;
use crate::session::spawn::{self, Ask};
use crate::session::{kill, list};
use dogwatch_bmad::format::prompt::quoted;
use dogwatch_bmad::format::slug;
use dogwatch_core::name::{self, StoryStep};
use dogwatch_engine::observe::exists;
use dogwatch_engine::{Context, Error};

use super::here;
use crate::call::Call;
use crate::commands::runs;
use crate::reply::Reply;
use dogwatch_engine::environment;

const ACTIONS: [&str; 13] = [
    "spawn <step> <epic> <story_id> --command \"...\" [--cycle N] [--agent TYPE]",
    "name <step> <epic> <story_id> [--cycle N]",
    "list [--project-only]",
    "kill <session_name>",
    "kill-all [--project-only]",
    "exists <session_name>",
    "build-cmd <step> <story_id> [--agent TYPE] [--model ID] [--state-file PATH] [extra_instruction]",
    "project-slug",
    "project-hash",
    "story-suffix <story_id>",
    "agent-type",
    "agent-cli [--model ID]",
    "skill-prefix",
];

pub(super) fn answer(call: &Call<'_>) -> Reply {
    if call.asks_for_help() {
        return Reply::text(usage());
    }
    let Some((action, rest)) = call.split() else { return Reply::refused(usage()) };
    match action {
        "spawn" | "build-cmd" if rest.asks_for_help() => Reply::text(usage()),
        "spawn" => spawn(&rest),
        "name" => name_now(&rest),
        "list" => list(&rest),
        "kill" => with_word(&rest, kill),
        "kill-all" => kill_all(&rest),
        "exists" => with_word(&rest, exists),
        "build-cmd" => runs::build_cmd(&rest),
        "project-slug" => Reply::line(name::slug(&rest.project())),
        "project-hash" => {
            Reply::line(slug::short_hash(rest.project().to_string_lossy().as_bytes()))
        }
        "story-suffix" => with_word(&rest, |_, story| Reply::line(session_name::suffix(story))),
        "agent-type" => Reply::line(kind()),
        "agent-cli" => agent_cli(&rest),
        "skill-prefix" => Reply::line(match kind() {
            "codex" => "none",
            _ => "bmad-",
        }),
        _ => Reply::refused(usage()),
    }
}

fn usage() -> String {
    let actions = ACTIONS.map(|action| format!("  {action}\n")).concat();
    format!("Usage: tmux-wrapper <action> [args...]\n\nActions:\n{actions}")
}

fn with_word(call: &Call<'_>, act: impl FnOnce(&Call<'_>, &str) -> Reply) -> Reply {
    match call.word(0) {
        Some(word) => act(call, word),
        None => Reply::refused(usage()),
    }
}

/// Step, epic and story come first; the cycle is an option, or the word after them.
fn step(call: &Call<'_>, cycle_may_be_bare: bool) -> Option<StoryStep> {
    let (step, epic, story) = (call.word(0)?, call.word(1)?, call.word(2)?);
    let bare = call.word(3).filter(|word| cycle_may_be_bare && !word.starts_with("--"));
    let cycle = call.option("--cycle").or(bare).filter(|cycle| !cycle.is_empty());
    let text = str::to_owned;
    Some(StoryStep {
        step: text(step),
        epic: text(epic),
        story: text(story),
        cycle: cycle.map(text),
    })
}

fn spawn(call: &Call<'_>) -> Reply {
    let Some(step) = step(call, false) else { return Reply::refused(usage()) };
    let Some(command) = call.option("--command").filter(|text| !text.trim().is_empty()) else {
        return Reply::refused("--command is required\n");
    };
    let ask = Ask {
        step,
        command: command.to_owned(),
        agent: agent::of_session(&here::project(), call.option("--agent"), &here::wishes()),
        caller_env: std::env::vars_os().collect(),
    };
    answered(|context| {
        let place = here::place(&Call::new(call.command, &[]));
        let spawned = spawn::spawn(context, &place, ask, &environment::local_time())?;
        Ok(Reply::line(spawned.name))
    })
}

fn name_now(call: &Call<'_>) -> Reply {
    match step(call, true) {
        Some(step) => {
            let now = environment::local_time().datetime();
            Reply::line(session_name::of_step(&call.project(), &step, now))
        }
        None => Reply::refused(usage()),
    }
}

/// Without sessions one empty line; never a failure.
fn list(call: &Call<'_>) -> Reply {
    let reply = answered(|context| Ok(Reply::line(listed(context, call)?.join("\n"))));
    if reply.code == 0 { reply } else { Reply { stdout: "\n".to_owned(), code: 0, ..reply } }
}

fn listed(context: &Context, call: &Call<'_>) -> Result<Vec<String>, Error> {
    let listed = if call.flag("--project-only") {
        list::of_project(context, &call.project())?
    } else {
        list::all(context)?
    };
    Ok(listed.into_iter().map(|one| one.name).collect())
}

fn kill(call: &Call<'_>, session: &str) -> Reply {
    if let Some(refusal) = here::refuse_bad_name(call, session) {
        return refusal;
    }
    answered(|context| {
        kill::kill(context, &here::place(call), session)?;
        Ok(Reply::default())
    })
}

fn kill_all(call: &Call<'_>) -> Reply {
    answered(|context| {
        let names = listed(context, call)?;
        let (ended, errors) = kill::kill_all(context, &here::place(call), &names);
        let stderr = errors.iter().map(here::in_words).collect::<String>();
        Ok(Reply { stderr, ..Reply::line(format_args!("Killed {ended} sessions")) })
    })
}

fn exists(_: &Call<'_>, session: &str) -> Reply {
    answered(|context| {
        let exists = exists::session(context, session)?;
        Ok(Reply::line(exists).with_code(u8::from(!exists)))
    })
}

fn agent_cli(call: &Call<'_>) -> Reply {
    let cli = match kind() {
        "codex" => "codex exec",
        _ => "claude --dangerously-skip-permissions",
    };
    match (call.flag("--model"), call.option("--model")) {
        (false, _) => Reply::line(cli),
        (true, Some(model)) if !model.is_empty() && !model.starts_with("--") => {
            Reply::line(format_args!("{cli} --model {}", quoted(model)))
        }
        (true, _) => Reply::refused("--model requires a value\n"),
    }
}

fn kind() -> &'static str {
    agent::kind(&here::project(), &here::wishes())
}

fn answered(act: impl FnOnce(&Context) -> Result<Reply, Error>) -> Reply {
    let done = here::context().and_then(|context| act(&context));
    done.unwrap_or_else(|error| Reply::refused(here::in_words(&error)))
}
