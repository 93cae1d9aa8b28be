//! Makes a member recognisable: colour, name, title and border.

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
/// How long an agent at its prompt may take to accept a command.
const PATIENCE: Duration = Duration::from_secs(10);
/// Private pane options, because programs in a pane overwrite its title.
const ROLE: &str = "@dogwatch_role";
const TITLE: &str = "@dogwatch_title";
const BORDER: &str = "@dogwatch_border";

/// Sends the agent its colour and name, each as its own proven message. A failure is a warning.
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
        if let Some(because) = send_command(context, session, &command)? {
            warnings.push(format!("{command} was not delivered: {because}"));
        }
    }
    Ok(warnings)
}

/// Returns why the command was not taken, if it was not.
fn send_command(context: &Context, session: &str, command: &str) -> Result<Option<String>, Error> {
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
                // It must not be delivered later, in the middle of other work.
                send::cancel(context, &receipt.message.id).logged("cancel a message");
                because = Some(why);
            }
            other => because = other.because().map(ToOwned::to_owned),
        }
    }
    Ok(because)
}

/// Sets the pane's title and border, and keeps the window's name.
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
        // Visible only if the user has turned titles on.
        set(
            "pane-border-format",
            &format!("#[fg=#{{{BORDER}}}] #{{{TITLE}}} #[default]#{{pane_title}} "),
        ),
        Command::new("select-pane").target(pane).option('T', title),
    ])?;
    colour_borders(context, pane)
}

/// Colours each pane's border. tmux has one border style per window, but expands it for each pane.
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
