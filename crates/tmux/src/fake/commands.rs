//! The effects of each command on the model, and tmux's error messages.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;

use super::format::expand;
use super::words::{self, Parsed};
use super::{FakePane, Input, State, ended};
use crate::chain::MOST_WORDS;
use crate::{Output, PaneId, Version};

type Done = Result<String, String>;

impl State {
    /// One client: its commands in order, until one fails.
    pub(super) fn client(
        &mut self,
        words: &[OsString],
        stdin: Option<Vec<u8>>,
        may_start: bool,
    ) -> Output {
        if words.first().is_some_and(|word| word == "-V") {
            return ended(0, format!("tmux {}\n", self.version).into_bytes(), "");
        }
        // As 3.7 does.
        if words.len() > MOST_WORDS {
            return ended(1, Vec::new(), "command too long");
        }
        let mut stdout = Vec::new();
        let mut inside: VecDeque<Parsed> = VecDeque::new();
        let mut refused_inside = None;
        let mut chain = words::commands(words).into_iter();
        while let Some((command, is_inside)) = inside
            .pop_front()
            .map(|command| (command, true))
            .or_else(|| Some((words::parse(&chain.next()?), false)))
        {
            if self.pid.is_none() {
                if command.name != "new-session" || !may_start {
                    return ended(1, stdout, "no server running on /fake");
                }
                self.run_server();
            }
            let is_mark = command.name == "display-message"
                && command.operands.first().is_some_and(|text| !text.contains('#'));
            if !is_mark {
                self.ran.push(command.name.clone());
            }
            for (_, dies) in self.dying.extract_if(.., |(name, _)| *name == command.name) {
                self.panes
                    .iter_mut()
                    .filter(|pane| pane.id == dies)
                    .for_each(|pane| pane.dead = true);
            }
            let refused = self.refusals.front().is_some_and(|(name, _)| *name == command.name);
            let done = match self.refusals.pop_front_if(|_| refused) {
                Some((_, message)) => Err(message),
                None if command.name == "if-shell" => {
                    inside = self.branch(&command).into();
                    Ok(String::new())
                }
                None => self.command(&command, stdin.as_deref()),
            };
            match done {
                Ok(text) => stdout.extend(text.into_bytes()),
                Err(message) if self.pid.is_none() => return ended(1, stdout, &message),
                // Commands inside are a group of their own: their error ends only that.
                Err(message) if is_inside => {
                    inside.clear();
                    refused_inside.get_or_insert(message);
                }
                Err(message) => return ended(1, stdout, &message),
            }
        }
        match refused_inside {
            Some(message) => ended(1, stdout, &message),
            None => ended(0, stdout, ""),
        }
    }

    /// The commands that `if-shell -F` runs. A target that is not there is no error: the names in the format are empty then.
    fn branch(&self, command: &Parsed) -> Vec<Parsed> {
        let pane = self.target(command).ok().map(|at| &self.panes[at]);
        let text = |at: usize| command.operands.get(at).map_or("", String::as_str);
        let value = expand(text(0), &|name| self.value(name, pane));
        let is_true = !value.is_empty() && value != "0";
        words::block(text(if is_true { 1 } else { 2 }))
            .iter()
            .map(|one| words::parse(one))
            .collect()
    }

    fn command(&mut self, command: &Parsed, stdin: Option<&[u8]>) -> Done {
        match command.name.as_str() {
            "new-session" => self.new_session(command),
            "new-window" | "split-window" => self.new_pane(command),
            "has-session" => self.target(command).map(|_| String::new()),
            "kill-server" => {
                self.end();
                Ok(String::new())
            }
            "kill-session" => self.kill(command, |pane, of| pane.session_no == of.session_no),
            "kill-pane" => self.kill(command, |pane, of| pane.id == of.id),
            "kill-window" if command.has('a') => self.kill(command, |pane, of| {
                pane.session_no == of.session_no && pane.window != of.window
            }),
            "kill-window" => self.kill(command, |pane, of| pane.window == of.window),
            "list-panes" => self.list_panes(command),
            "list-sessions" => Ok(self.list_sessions(command)),
            "display-message" => {
                let text = command.operands.first().map_or("", String::as_str);
                let first = self.panes.first();
                Ok(format!("{}\n", expand(text, &|name| self.value(name, first))))
            }
            "capture-pane" => self.capture(command),
            "send-keys" => self.send_keys(command),
            "load-buffer" | "set-buffer" => {
                self.set_buffer(command, stdin);
                Ok(String::new())
            }
            "paste-buffer" => self.paste(command),
            "delete-buffer" => {
                self.buffers.remove(command.value('b').unwrap_or_default());
                Ok(String::new())
            }
            "set-option" => self.set_option(command),
            "show-environment" => self.show_environment(command),
            "copy-mode" => {
                let at = self.target(command)?;
                self.panes[at].in_mode = !command.has('q');
                Ok(String::new())
            }
            // Not modelled, but the target must exist.
            "select-pane" | "select-layout" | "select-window" | "move-window" | "resize-window"
            | "swap-pane" => self.target(command).map(|_| String::new()),
            // No client is attached, and the server's environment is not modelled.
            "list-clients" | "set-environment" => Ok(String::new()),
            unknown => Err(format!("unknown command: {unknown}")),
        }
    }

    /// The pane of a command: by id, or the last one of a session or window.
    fn target(&self, command: &Parsed) -> Result<usize, String> {
        let target = command.value('t').unwrap_or_default();
        if let Ok(id) = target.parse::<PaneId>() {
            let found = self.panes.iter().position(|pane| pane.id == id);
            return found.ok_or_else(|| format!("can't find pane: {target}"));
        }
        let name = target.strip_prefix('=').unwrap_or(target);
        let name = name.strip_suffix(':').unwrap_or(name);
        let is_it = |pane: &FakePane| {
            pane.session == name
                || format!("${}", pane.session_no) == name
                || format!("@{}", pane.window) == name
        };
        let found = self.panes.iter().rposition(is_it);
        let kind = if command.name == "send-keys" { "pane" } else { "session" };
        found.ok_or_else(|| format!("can't find {kind}: {name}"))
    }

    fn new_session(&mut self, command: &Parsed) -> Done {
        let number = self.take_session_no();
        let name = command
            .value('s')
            .map_or_else(|| number.to_string(), |name| expand(name, &|_| String::new()));
        if self.panes.iter().any(|pane| pane.session == name) {
            return Err(format!("duplicate session: {name}"));
        }
        let environment = command.values('e').filter_map(|pair| pair.split_once('='));
        let environment = environment.map(|(key, value)| (key.to_owned(), value.to_owned()));
        self.environments.insert(name.clone(), environment.collect());
        let id = self.make_pane(&name, number, None, command.operands.clone());
        Ok(self.made(command, id))
    }

    fn new_pane(&mut self, command: &Parsed) -> Done {
        let beside = self.target(command)?;
        let beside = self.panes[beside].clone();
        let window = (command.name == "split-window").then_some(beside.window);
        let runs = command.operands.clone();
        let id = self.make_pane(&beside.session, beside.session_no, window, runs);
        Ok(self.made(command, id))
    }

    /// Sets size and directory of a new pane, and returns what is printed about it.
    fn made(&mut self, command: &Parsed, id: PaneId) -> String {
        let number = |letter| command.value(letter).and_then(|value| value.parse().ok());
        let folder = command.value('c').map(|folder| expand(folder, &|_| String::new()));
        if let Some(pane) = self.panes.iter_mut().find(|pane| pane.id == id) {
            pane.width = number('x').unwrap_or(pane.width);
            pane.height = number('y').unwrap_or(pane.height);
            pane.current_path = folder.map_or_else(|| pane.current_path.clone(), PathBuf::from);
        }
        let pane = self.panes.iter().find(|pane| pane.id == id);
        let format = command.value('F').unwrap_or("#{session_name}:");
        let printed = || format!("{}\n", expand(format, &|name| self.value(name, pane)));
        command.has('P').then(printed).unwrap_or_default()
    }

    fn kill(&mut self, command: &Parsed, is_meant: fn(&FakePane, &FakePane) -> bool) -> Done {
        let of = self.panes[self.target(command)?].clone();
        self.panes.retain(|pane| !is_meant(pane, &of));
        self.end_if_empty();
        Ok(String::new())
    }

    fn list_panes(&self, command: &Parsed) -> Done {
        let of = if command.has('a') { None } else { Some(&self.panes[self.target(command)?]) };
        let format = command.value('F').unwrap_or("#{pane_id}");
        let mut out = String::new();
        for pane in &self.panes {
            let is_in = of.is_none_or(|of| of.window == pane.window);
            let value = |name: &str| self.value(name, Some(pane));
            let is_wanted = command.value('f').is_none_or(|filter| expand(filter, &value) == "1");
            if is_in && is_wanted {
                out.push_str(&expand(format, &value));
                out.push('\n');
            }
        }
        Ok(out)
    }

    fn list_sessions(&self, command: &Parsed) -> String {
        let format = command.value('F').unwrap_or("#{session_name}");
        let mut listed = Vec::new();
        for pane in &self.panes {
            if !listed.iter().any(|(number, _)| *number == pane.session_no) {
                listed
                    .push((pane.session_no, expand(format, &|name| self.value(name, Some(pane)))));
            }
        }
        listed.into_iter().map(|(_, line)| line + "\n").collect()
    }

    /// As many lines as the pane has; missing ones are empty.
    fn capture(&self, command: &Parsed) -> Done {
        let pane = &self.panes[self.target(command)?];
        let lines = pane.screen.lines().chain(std::iter::repeat("")).take(pane.height.into());
        Ok(lines.flat_map(|line| [line, "\n"]).collect())
    }

    fn send_keys(&mut self, command: &Parsed) -> Done {
        let at = self.target(command)?;
        if self.panes[at].dead {
            return Ok(String::new());
        }
        for word in &command.operands {
            let is_text = command.has('l');
            self.typed(
                at,
                if is_text { Input::Text(word.clone()) } else { Input::Key(word.clone()) },
            );
        }
        Ok(String::new())
    }

    fn set_buffer(&mut self, command: &Parsed, stdin: Option<&[u8]>) {
        let given = command.operands.first().map(|text| text.as_bytes().to_vec());
        let bytes = if command.name == "load-buffer" { stdin.map(<[u8]>::to_vec) } else { given };
        let name = command.value('b').unwrap_or("buffer0").to_owned();
        self.buffers.insert(name, bytes.unwrap_or_default());
    }

    fn paste(&mut self, command: &Parsed) -> Done {
        let at = self.target(command)?;
        if self.panes[at].dead {
            let is_checked = Version::parse(&self.version) >= Version::parse("3.4");
            if is_checked {
                return Err("target pane has exited".to_owned());
            }
            self.end();
            return Err("server exited unexpectedly".to_owned());
        }
        let name = command.value('b').unwrap_or("buffer0");
        let found = self.buffers.get(name).cloned().ok_or_else(|| format!("no buffer {name}"))?;
        if command.has('d') {
            self.buffers.remove(name);
        }
        self.typed(at, Input::Paste(String::from_utf8_lossy(&found).into_owned()));
        Ok(String::new())
    }

    fn set_option(&mut self, command: &Parsed) -> Done {
        if command.has('g') || command.has('s') {
            return Ok(String::new());
        }
        let at = self.target(command)?;
        if let [name, value, ..] = command.operands.as_slice() {
            self.panes[at].options.insert(name.clone(), value.clone());
        }
        Ok(String::new())
    }

    fn show_environment(&self, command: &Parsed) -> Done {
        let session = &self.panes[self.target(command)?].session;
        let name = command.operands.first().map_or("", String::as_str);
        let value = self.environments.get(session).and_then(|all| all.get(name));
        let value = value.ok_or_else(|| format!("unknown variable: {name}"))?;
        Ok(format!("{name}={value}\n"))
    }

    /// The value of a name in a format.
    fn value(&self, name: &str, pane: Option<&FakePane>) -> String {
        let number = |flag: bool| u8::from(flag).to_string();
        match (name, pane) {
            ("pid", _) => self.pid.unwrap_or_default().to_string(),
            ("start_time", _) => self.start.to_string(),
            ("version", _) => self.version.clone(),
            (_, None) => String::new(),
            ("pane_id", Some(pane)) => pane.id.to_string(),
            ("session_id", Some(pane)) => format!("${}", pane.session_no),
            ("window_id", Some(pane)) => format!("@{}", pane.window),
            ("session_name", Some(pane)) => pane.session.clone(),
            ("session_path" | "pane_current_path", Some(pane)) => {
                pane.current_path.display().to_string()
            }
            ("pane_pid", Some(pane)) => pane.pid.to_string(),
            ("pane_dead", Some(pane)) => number(pane.dead),
            ("pane_dead_status", Some(pane)) => {
                pane.dead_status.map(|code| code.to_string()).unwrap_or_default()
            }
            ("pane_title", Some(pane)) => pane.title.clone(),
            ("pane_width" | "window_width", Some(pane)) => pane.width.to_string(),
            ("pane_height" | "window_height", Some(pane)) => pane.height.to_string(),
            ("pane_left" | "pane_top" | "alternate_on", Some(_)) => "0".to_owned(),
            ("pane_in_mode", Some(pane)) => number(pane.in_mode),
            ("window_activity", Some(pane)) => pane.activity.to_string(),
            ("session_attached", Some(pane)) => pane.attached.to_string(),
            ("pane_current_command", Some(pane)) => pane
                .runs
                .first()
                .map(|word| word.rsplit('/').next().unwrap_or(word).to_owned())
                .unwrap_or_default(),
            (option, Some(pane)) => pane.options.get(option).cloned().unwrap_or_default(),
        }
    }
}
