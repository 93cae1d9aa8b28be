//! The dashboard.

use std::ffi::OsString;

use clap::Args as ClapArgs;

/// Open the dashboard: one queue of what needs you
///
/// The same as `dogwatch` without arguments. Lists every agent with what it is doing, those that need you first, and shows the
/// screen of the selected one. `?` lists the keys. Without a terminal, prints `dogwatch status`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch top
  dogwatch top --project-only
  dogwatch top claude waiting")]
pub(crate) struct Top {
    /// List only sessions that match these words (name, agent, state, directory)
    pub(crate) filter: Vec<String>,
    /// Only sessions of the current directory's project
    #[arg(long)]
    pub(crate) project_only: bool,
    /// Take clicks and the wheel: a click selects a row. The terminal's own selection of text then needs Shift
    #[arg(long)]
    pub(crate) mouse: bool,
    /// Quit after attaching this client to a session (for `dogwatch popup`)
    #[arg(long, hide = true)]
    pub(crate) once: Option<String>,
    /// Stay beside the session that is attached (for `dogwatch sidebar`)
    #[arg(long, hide = true)]
    pub(crate) beside: bool,
}

/// Open the dashboard in a popup of tmux
///
/// Run it in a tmux pane, or from a key binding: `bind-key g run-shell -b 'dogwatch popup'`. Attaching to a session closes the popup
/// and switches the client to it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch popup
  tmux bind-key g run-shell -b 'dogwatch popup'")]
pub(crate) struct Popup {
    /// Width in columns or percent
    #[arg(long, value_name = "SIZE", default_value = "90%")]
    pub(crate) width: String,
    /// Height in lines or percent
    #[arg(long, value_name = "SIZE", default_value = "90%")]
    pub(crate) height: String,
}

/// Open the dashboard in a narrow pane at the left of the window
///
/// Attaching to a session moves the pane along, so that it stays beside the session that you look at. `q` closes it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch sidebar
  tmux bind-key e run-shell -b 'dogwatch sidebar'")]
pub(crate) struct Sidebar {
    /// Width in columns
    #[arg(long, value_name = "COLUMNS", default_value_t = 40)]
    pub(crate) width: u16,
}

/// Print how many sessions need you, for tmux's status line
///
/// Prints for example `!2 *5 x1`: two wait for you, five work, one failed; `%` limited, `+` finished and not looked at yet. With
/// `--follow`, keeps the tmux option `@dogwatch_status` current instead, so that nothing polls; it ends with the tmux server.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch tmux-status
  tmux set -g status-right '#(dogwatch tmux-status)'
  tmux run-shell -b 'dogwatch tmux-status --follow'")]
pub(crate) struct TmuxStatus {
    /// Keep the option `@dogwatch_status` current until the tmux server ends
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Options that may stand before a command, and whether a value follows.
const GLOBAL: [(&str, bool); 3] = [("--socket", true), ("--state-dir", true), ("--json", false)];

/// Whether no command is named: then the dashboard is meant.
pub(super) fn names_no_command(words: &[OsString]) -> bool {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else { return false };
        let name = word.split('=').next().unwrap_or(word);
        match GLOBAL.iter().find(|(known, _)| *known == name) {
            Some((_, true)) if !word.contains('=') => {
                if words.next().is_none() {
                    return false;
                }
            }
            Some(_) => {}
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_command_the_dashboard_is_meant() {
        for (line, want) in [
            ("dogwatch", true),
            ("dogwatch --json", true),
            ("dogwatch --socket x", true),
            ("dogwatch --socket=x --state-dir /s", true),
            ("dogwatch --socket", false),
            ("dogwatch --help", false),
            ("dogwatch status", false),
            ("dogwatch --socket x ls", false),
        ] {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(names_no_command(&words), want, "{line}");
        }
    }
}
