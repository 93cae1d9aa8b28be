//! `dogwatch --help`: the commands grouped by topic.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Every command that is not hidden is in one of these (a test checks it).
const TOPICS: [(&str, &[&str]); 12] = [
    (
        "Everyday",
        &["top", "spawn", "status", "ls", "why", "send", "answer", "attach", "next", "kill"],
    ),
    ("Inside tmux", &["popup", "sidebar", "tmux-status"]),
    ("Watching", &["watch", "wait", "events", "report", "usage", "budget", "capture", "messages"]),
    ("Finding", &["search", "tag", "rename", "archive", "unarchive"]),
    ("A worktree per agent", &["diff", "finish", "pr", "trust", "untrust"]),
    ("Jobs, stories and questions", &["job", "story", "escalations", "notify"]),
    ("Unattended work", &["rules", "limits"]),
    ("Teams in one tmux window", &["team", "pane", "task", "agent"]),
    (
        "Registry of long-lived sessions",
        &["create", "resume", "delete", "adopt", "registry", "reconcile", "monitor"],
    ),
    ("Agents as users", &["mcp", "install-skill"]),
    ("Other hosts, over MQTT", &["fleet", "relay", "broker"]),
    (
        "Maintenance",
        &[
            "doctor",
            "supervisor",
            "agents",
            "exists",
            "kill-all",
            "gc",
            "bug-report",
            "debug",
            "demo",
            "completions",
            "man",
            "schema",
            "help",
        ],
    ),
];

pub(super) const AFTER: &str = "\
Examples:
  dogwatch spawn claude 'Fix the failing test'   # start an agent
  dogwatch spawn --name build -- make -j4        # or any command
  dogwatch top                                   # the dashboard
  dogwatch status                                # what each session is doing
  dogwatch wait NAME --for idle,waiting          # until it is idle or needs you
  dogwatch send NAME 'Now write the tests'       # send a message, with proof
  dogwatch escalations                           # list open questions
  dogwatch kill NAME                             # end it and all it started
  dogwatch demo                                  # try it with scripted agents

`dogwatch COMMAND --help` has more options and examples.

Exit codes: 0 success or yes, 1 failure or no, 2 wrong usage, 3 not found,
4 conflict, 5 tmux, 6 state directory or database, 7 agent, 124 timeout.";

/// The same command with a help page that lists its subcommands by topic instead of in one block.
pub(super) fn grouped(command: Command) -> Command {
    let styles = command.get_styles();
    let (head, name) = (styles.get_header(), styles.get_literal());
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (topic, names) in TOPICS {
        let _ = write!(page, "\n{head}{topic}:{head:#}\n");
        for part in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = part.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = write!(page, "  {name}{:<13}{name:#} {about}", part.get_name());
            for alias in part.get_visible_aliases() {
                let _ = write!(page, " [alias: {alias}]");
            }
            page.push('\n');
        }
    }
    let _ = write!(page, "\n{head}Options:{head:#}\n{{options}}{{after-help}}");
    command.help_template(StyledStr::from(page))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{CommandFactory as _, Parser as _};

    use super::super::Args;

    fn page(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let page = Args::command_for(&words).try_get_matches_from(&words).unwrap_err();
        page.to_string()
    }

    #[test]
    fn the_overview_lists_every_command_once_with_its_help_text() {
        for words in [&["dogwatch"][..], &["dogwatch", "-h"], &["dogwatch", "help"]] {
            let page = page(words);
            for about in ["Start an agent or a command", "Run stories unattended", "[alias: list]"]
            {
                assert!(page.contains(about), "{words:?}: {page}");
            }
        }
        let page = page(&["dogwatch", "--help"]);
        let mut command = Args::command();
        command.build();
        for part in command.get_subcommands() {
            let name = part.get_name();
            let lines = page.lines().filter(|line| {
                line.strip_prefix("  ").is_some_and(|rest| rest.split(' ').next() == Some(name))
            });
            assert_eq!(lines.count(), usize::from(!part.is_hide_set()), "{name}\n{page}");
        }
        assert!(Args::try_parse_from(["dogwatch", "list"]).is_ok());
    }

    #[test]
    fn the_overview_fits_a_terminal_of_80_columns() {
        let page = page(&["dogwatch", "--help"]);
        let (lists, _) = page.split_once("\nOptions:").unwrap();
        let (_, after) = page.split_once("\nExamples:").unwrap();
        for line in lists.lines().chain(after.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
