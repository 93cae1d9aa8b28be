//! The briefing of a new member of a team.

use std::path::Path;

/// Everything it needs to know.
#[derive(Debug, Clone)]
pub struct Briefing<'a> {
    pub role: &'a str,
    /// Its own pane, if that is known at this time.
    pub pane: Option<&'a str>,
    pub spawner: &'a str,
    pub session_file: &'a Path,
    /// Our own binary, which a shell of the agent's might not find by its name.
    pub dogwatch: &'a Path,
    /// Number and text of its task; else it gets one when it registers.
    pub task: Option<(&'a str, &'a str)>,
}

impl Briefing<'_> {
    pub fn text(&self) -> String {
        let Self { role, spawner, .. } = self;
        let dogwatch = word(self.dogwatch);
        let file = self.session_file.display();
        let place = self.pane.map(|pane| format!(" in pane {pane}")).unwrap_or_default();
        let (task, gets) = match self.task {
            Some((id, text)) => (format!("\n\nYour task, {id}:\n\n{text}"), "your task again"),
            None => (String::new(), "your task"),
        };
        format!(
            "You are the {role} agent of a team in this tmux window{place}. Your spawner is in pane {spawner}. The team's session file is \
             {file}; read it when you need to, but do not edit it: the commands below do that.\n\n\
             1. First run: {dogwatch} agent register\n   It writes you down and prints {gets}.\n\
             2. Do the task.\n\
             3. When it is done run: {dogwatch} agent complete --result pass\n   (or --result fail, or a few words). It marks the task done, tells your \
             spawner, and prints the next task if there is one. If it fails, run it again; nothing is reported twice.\n\n\
             Your name and colour are set by your spawner, and your pane is closed by your spawner: do neither yourself, and type into no other pane. \
             To tell another agent something: {dogwatch} send PANE 'text'{task}"
        )
    }
}

/// A path as a shell reads it.
fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.+".contains(c);
    if text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_needed() {
        let briefing = Briefing {
            role: "dev",
            pane: Some("%31"),
            spawner: "%0",
            session_file: Path::new("/p/s.md"),
            dogwatch: Path::new("/opt/dogwatch"),
            task: Some(("TASK-001", "Write the parser.")),
        };
        let text = briefing.text();
        for needed in [
            "the dev agent",
            "in pane %31",
            "spawner is in pane %0",
            "/p/s.md",
            "run: /opt/dogwatch agent register",
            "run: /opt/dogwatch agent complete",
            "Your task, TASK-001:\n\nWrite the parser.",
        ] {
            assert!(text.contains(needed), "{needed}: {text}");
        }
        let odd = Briefing { dogwatch: Path::new("/o'p t/dogwatch"), ..briefing.clone() }.text();
        assert!(odd.contains(r"run: '/o'\''p t/dogwatch' agent register"), "{odd}");
        let without = Briefing { task: None, pane: None, ..briefing }.text();
        assert!(!without.contains("TASK-001") && without.contains("prints your task."));
    }
}
