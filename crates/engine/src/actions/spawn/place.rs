//! Where a session runs: in a tmux session of its own, or in a pane of a window that is there.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_base::private::MQTT_PASSWORD;
use dogwatch_core::name::SessionName;
use dogwatch_core::process_tree;
use dogwatch_store::Server;
use dogwatch_tmux::{Command, PaneId, Reply, Target, escape_format};

use crate::Context;
use crate::observe::capture::HISTORY;

/// Columns and rows of a session's window, while nobody is attached who has others.
const WIDTH: u16 = 200;
const HEIGHT: u16 = 50;
/// What tmux is told, which drops a tenth of its lines at once whenever it has that many.
const TMUX_HISTORY: u32 = HISTORY + HISTORY / 8;
/// What is asked of a pane that was made.
const PLACE: &str = "#{pane_id} #{pid} #{start_time}";

/// Where a session is to run.
#[derive(Debug, Clone)]
pub enum Place {
    OwnSession,
    Beside(Beside),
}

/// In a pane beside another one.
#[derive(Debug, Clone)]
pub struct Beside {
    pub pane: PaneId,
    /// Left of it or above, instead of right or below.
    pub before: bool,
    /// The layout that the window takes at once, so that the agent draws in its right size from the start.
    pub layout: Option<String>,
}

/// Makes the tmux session in one process: a pane that runs our runner, with the history we promise.
///
/// tmux fixes a pane's history when it is made, from an option of a session that does not exist
/// before. So the session is made with a stand-in, the option is set, and the real window takes its
/// place. The server does all of it before it looks at any child again, so nothing of the
/// stand-in is ever seen.
pub(super) fn own_session(
    context: &Context,
    id: &str,
    agent: &str,
    name: &SessionName,
    cwd: &Path,
) -> Result<(PaneId, Server), dogwatch_tmux::Error> {
    let tmux_name = dogwatch_tmux::SessionName::new(name.as_str())?;
    let session = Target::session(&tmux_name);
    let mut new_session = Command::new("new-session")
        .flag('d')
        .option('s', name.as_str())
        .option('x', WIDTH.to_string())
        .option('y', HEIGHT.to_string())
        .option('c', escape_format(cwd));
    // Also for windows that a person opens beside the agent's; those are not of its family, though,
    // and outlive it.
    let set = |key: &str, value: &str| format!("{key}={value}");
    for pair in [
        set("STORY_AUTOMATOR_CHILD", "true"),
        set("AI_AGENT", agent),
        set("CLAUDECODE", ""),
        set("BASH_ENV", ""),
        set("DOGWATCH_SESSION", id),
        set(process_tree::TAG, ""),
    ] {
        new_session = new_session.option('e', pair);
    }
    let forgotten = forget_passwords(context);
    let place = 2 + forgotten.len();
    let made = vec![
        // Two words, so that tmux starts it without a shell.
        new_session.args(["cat", "-"]),
        Command::new("set-option")
            .target(session.clone())
            .args(["history-limit", &TMUX_HISTORY.to_string()]),
    ]
    .into_iter()
    .chain(forgotten)
    .chain([
        Command::new("new-window")
            .target(session.clone())
            .option('n', agent)
            .option('c', escape_format(cwd))
            .option('e', set(process_tree::TAG, id))
            .flag('P')
            .option('F', PLACE)
            .args(runner(context, id)),
        // 3.2 gives a new window the size of whatever control client there is, 80x24; ours has no say on later versions. Without
        // the option that this sets, the window follows those who attach.
        Command::new("if-shell").flag('F').target(session.clone()).args([
            "#{m:3.2*,#{version}}",
            &format!("resize-window -x {WIDTH} -y {HEIGHT} ; set-option -w -u window-size"),
        ]),
        Command::new("set-option").flag('w').target(session.clone()).args(["remain-on-exit", "on"]),
        // A user's setting that ends sessions nobody looks at would end ours at once.
        Command::new("set-option").target(session.clone()).args(["destroy-unattached", "off"]),
        Command::new("kill-window").flag('a').target(session.clone()),
        Command::new("move-window").flag('r').target(session),
    ]);
    let made = context.tmux.run(&made.collect::<Vec<_>>());
    let replies = made.inspect_err(|error| {
        // Half a session is none.
        if may_be_half_made(error) || (is_unanswered(error) && is_ours(context, &tmux_name, id)) {
            context
                .tmux
                .run_one(Command::new("kill-session").target(&tmux_name))
                .logged("ask tmux");
        }
    })?;
    placed("new-window", replies.get(place))
}

/// Makes a pane in a window that is there. Its history is what that tmux session has for its panes.
pub(super) fn beside(
    context: &Context,
    id: &str,
    beside: &Beside,
    cwd: &Path,
) -> Result<(PaneId, Server), dogwatch_tmux::Error> {
    let split = Command::new("split-window")
        .flag('h')
        // Who looks at another pane goes on looking at it.
        .flag('d')
        .flag_if(beside.before, 'b')
        .target(beside.pane)
        .option('c', escape_format(cwd))
        .option('e', format!("{}={id}", process_tree::TAG))
        .flag('P')
        .option('F', PLACE)
        .args(runner(context, id));
    let mut commands = forget_passwords(context);
    commands.push(split);
    let replies = context.tmux.run(&commands)?;
    let (pane, server) = placed("split-window", replies.last())?;
    // So that it is there to look at after the end. An agent that has ended already has left its record.
    let keep = Command::new("set-option").flag('p').target(pane).args(["remain-on-exit", "on"]);
    let layout = beside.layout.as_ref();
    let layout = layout.map(|layout| Command::new("select-layout").target(pane).arg(layout));
    let after: Vec<Command> = [keep].into_iter().chain(layout).collect();
    context.tmux.run(&after).logged("ask tmux");
    Ok((pane, server))
}

/// A server that a person started with the broker's password in its environment would give it to every pane, and to whoever
/// asks for its environment.
fn forget_passwords(context: &Context) -> Vec<Command> {
    let others = context.tmux.withheld.iter().filter(|name| *name != MQTT_PASSWORD);
    let names = others.map(OsString::as_os_str).chain([OsStr::new(MQTT_PASSWORD)]);
    let forget = |name| Command::new("set-environment").flag('g').flag('u').arg(name);
    names.map(forget).collect()
}

/// The pane's command: ours, in words, so that tmux starts it without a shell.
fn runner(context: &Context, id: &str) -> [OsString; 5] {
    let root = context.state.root();
    [(&context.dogwatch).into(), "run".into(), "--state-dir".into(), root.into(), id.into()]
}

fn placed(command: &str, reply: Option<&Reply>) -> Result<(PaneId, Server), dogwatch_tmux::Error> {
    let answer = reply.map(|r| r.first_line().into_owned()).unwrap_or_default();
    parse_place(&answer).ok_or_else(|| dogwatch_tmux::Error::Failed {
        command: command.into(),
        message: format!("unexpected answer {answer:?}"),
        status: None,
    })
}

/// Whether the session may exist although its making failed: it is somebody else's, or was not begun, otherwise.
fn may_be_half_made(error: &dogwatch_tmux::Error) -> bool {
    use dogwatch_tmux::Error::{Failed, NotFound, ServerDying};
    match error {
        Failed { command, .. } => !command.starts_with("new-session"),
        NotFound { .. } | ServerDying => true,
        _ => false,
    }
}

/// Whether the call was cut off, so that nobody knows what the server did of it. A server that does not answer would not answer
/// this question either; its runner finds nothing to start when it comes.
fn is_unanswered(error: &dogwatch_tmux::Error) -> bool {
    matches!(error, dogwatch_tmux::Error::Failed { status: None, .. })
}

/// Whether there is such a session, and it was made for this id. Another's of the same name is left alone.
fn is_ours(context: &Context, name: &dogwatch_tmux::SessionName, id: &str) -> bool {
    let ask = Command::new("show-environment").target(name).arg("DOGWATCH_SESSION");
    let answer = context.tmux.run_one(ask);
    answer.is_ok_and(|reply| reply.first_line() == format!("DOGWATCH_SESSION={id}"))
}

fn parse_place(answer: &str) -> Option<(PaneId, Server)> {
    let mut words = answer.split_whitespace();
    let pane = words.next()?.parse().ok()?;
    let server = Server { pid: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? };
    Some((pane, server))
}
