//! How a member of a team is told apart: by its colour and name, its title and its border.

use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::delivery::{Outcome, When};
use dogwatch_core::profile::SlashCommands;
use dogwatch_core::roles::{self, Look};
use dogwatch_core::window;
use dogwatch_tmux::{Command, PaneId};

use crate::actions::send::{self, Request};
use crate::{Context, Error};

const TRIES: usize = 2;
/// How long an agent at its prompt may take to take a command.
const PATIENCE: Duration = Duration::from_secs(10);
/// Options of panes that nobody else sets: programs in a pane change its title as they like.
const ROLE: &str = "@dogwatch_role";
const TITLE: &str = "@dogwatch_title";
const BORDER: &str = "@dogwatch_border";

/// Tells the agent its colour and name, each as a submission of its own that is proven. What does not work is a warning.
pub(super) fn introduce(
    context: &Context,
    session: &str,
    role: &str,
    commands: &SlashCommands,
) -> Result<Vec<String>, Error> {
    let Look { color, .. } = roles::look(role);
    let color = commands.color.as_ref().map(|command| command.replace("@color@", color));
    let name = format!("{role}-agent");
    let rename = commands.rename.as_ref().map(|command| command.replace("@name@", &name));
    let mut warnings = Vec::new();
    for command in [color, rename].into_iter().flatten() {
        if let Some(because) = tell(context, session, &command)? {
            warnings.push(format!("{command} was not delivered: {because}"));
        }
    }
    Ok(warnings)
}

/// Why a command was not taken, in the end.
fn tell(context: &Context, session: &str, command: &str) -> Result<Option<String>, Error> {
    let mut because = None;
    for _ in 0..TRIES {
        let request = Request {
            target: session,
            text: command,
            slash: true,
            when: When::Idle,
            timeout: Some(PATIENCE),
        };
        let receipt = send::send(context, &request)?;
        match receipt.outcome {
            Outcome::Delivered { .. } => return Ok(None),
            Outcome::Queued { because: why } => {
                // It must not come up later, in the middle of something else.
                send::cancel(context, &receipt.message.id).logged("cancel a message");
                because = Some(why);
            }
            other => because = other.because().map(ToOwned::to_owned),
        }
    }
    Ok(because)
}

/// Marks the pane: title, border, and that its window keeps its name.
pub(super) fn mark(context: &Context, pane: PaneId, role: &str) -> Result<(), Error> {
    let title = format!("{role}-{pane}");
    let Look { border, .. } = roles::look(role);
    let set = |option: &str, value: &str| {
        Command::new("set-option").flag('p').target(pane).args([option, value])
    };
    context.tmux.run(&[
        set("allow-rename", "off"),
        set(ROLE, role),
        set(TITLE, &title),
        set(BORDER, border),
        // Shown only where the user has turned titles on.
        set(
            "pane-border-format",
            &format!("#[fg=#{{{BORDER}}}] #{{{TITLE}}} #[default]#{{pane_title}} "),
        ),
        Command::new("select-pane").target(pane).option('T', title),
    ])?;
    colour_borders(context, pane)
}

/// Borders take the colours of their panes. tmux has one style for all borders of a window, but works it out for each pane.
fn colour_borders(context: &Context, pane: PaneId) -> Result<(), Error> {
    let style = "pane-border-style";
    let ask = Command::new("show-options").flag('w').flag('v').flag('A').target(pane).arg(style);
    let before = context.tmux.run_one(ask)?.first_line().into_owned();
    let before = if before.is_empty() { "default" } else { &before };
    if let Some(value) = window::border_style(before, BORDER) {
        let set = Command::new("set-option").flag('w').target(pane).args([style, &value]);
        context.tmux.run_one(set)?;
    }
    Ok(())
}
