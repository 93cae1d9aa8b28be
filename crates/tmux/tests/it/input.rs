//! Typing into panes that live, end, have ended and are gone. `scripts/tmux-matrix` runs this on every version: several versions
//! crash, with all sessions, when they write to a pane without a process.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use dogwatch_testkit::{PrivateTmux, eventually, is_since};
use dogwatch_tmux::control::Control;
use dogwatch_tmux::{CaptureOptions, Command, Error, Input, PaneId};
use rustix::process::{Pid, Signal, kill_process};

/// What every agent switches on: focus reports and brackets around pasted text. tmux keeps that of a pane whose process ended.
const MODES: &str = "printf '\\033[?1004h\\033[?2004h'";

/// A server with a session beside the panes of the test, all kept after their end.
fn server() -> PrivateTmux {
    let tmux = PrivateTmux::running();
    let keep = Command::new("set-option").flag('g').args(["remain-on-exit", "on"]);
    let focus = Command::new("set-option").flag('g').args(["focus-events", "on"]);
    tmux.server.run(&[keep, focus]).unwrap();
    tmux
}

fn shell(tmux: &PrivateTmux, name: &str, script: &str) -> PaneId {
    tmux.session_with(name, &["sh", "-c", &format!("{MODES}; {script}")])
}

fn is_dead(tmux: &PrivateTmux, pane: PaneId) -> bool {
    tmux.server.panes().unwrap().iter().any(|row| row.pane_id == pane && row.dead)
}

/// Its process has ended.
fn dead(tmux: &PrivateTmux) -> PaneId {
    let pane = shell(tmux, "dead", "exit 3");
    eventually("dead", || is_dead(tmux, pane));
    pane
}

/// Its process lives and has closed the terminal: what tmux sees between the end of a process and its exit status.
fn closed(tmux: &PrivateTmux) -> PaneId {
    let there = tmux.path().join("closed");
    // tmux closes its side, and the kernel hangs up.
    let script = format!(
        "trap '' HUP; exec </dev/null >/dev/null 2>&1; : > '{}'; exec sleep 20",
        there.display()
    );
    let pane = shell(tmux, "closed", &script);
    eventually("closed", || there.exists());
    // 3.7 calls it dead only when it has the exit status, too, so there is nothing to wait for.
    if !is_since("3.7") {
        eventually("without a terminal", || is_dead(tmux, pane));
    }
    pane
}

/// Its process has ended or is about to, but its terminal stays open until a pipe has taken what it wrote.
fn closing(tmux: &PrivateTmux) -> PaneId {
    let go = tmux.path().join("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.02; done; seq 200000", go.display());
    let pane = shell(tmux, "closing", &script);
    // It reads nothing for as long as the test runs.
    let piped = tmux.words(&["pipe-pane", "-t", &pane.to_string(), "exec sleep 60"]);
    assert!(piped.status.success());
    fs::write(go, "").unwrap();
    let pid = tmux.server.run_one(Command::about_pane(pane, "#{pane_pid}")).unwrap();
    let pid: u32 = pid.first_line().parse().unwrap();
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    eventually("ended or blocked", || !stat().contains(") R ") && !stat().contains(") D "));
    pane
}

fn inputs(pane: PaneId) -> [Input; 4] {
    [
        Input::keys(pane, ["C-c", "Enter"]),
        Input::text(pane, "text; \"$HOME\" ~ \\ 'ü'"),
        Input::text(pane, "line").then("Enter"),
        Input::paste(pane, "dogwatch-test", "one\ntwo;\n"),
    ]
}

fn buffers(tmux: &PrivateTmux) -> String {
    String::from_utf8(tmux.words(&["list-buffers"]).stdout).unwrap()
}

#[test]
fn text_arrives_by_both_transports() {
    let tmux = server();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    for (number, text) in ["a;", "; kill-server", "$HOME ~ #{pid} \"\\ 'x' %1 {b}", "größe ❯ 日本"]
        .into_iter()
        .enumerate()
    {
        let pane = tmux.session(&format!("echo-{number}"));
        let shown = |times: usize| {
            eventually(&format!("{times} times {text}"), || {
                let screen = tmux.server.capture(pane, CaptureOptions::default()).unwrap();
                let screen = screen.text().into_owned();
                screen.lines().filter(|line| line.trim_end() == text).count() == times
            });
        };
        // As it is typed, and by `cat`.
        tmux.server.type_into(&Input::text(pane, text).then("Enter")).unwrap();
        shown(2);
        let input = Input::text(pane, text);
        input.outcome(control.request_one(input.guarded())).unwrap();
        shown(3);
    }
    // The replies to what follows are in their places.
    let mut answers = control
        .request(&[
            Command::new("display-message").flag('p').arg("before"),
            Input::keys(PaneId(0), ["x"]).guarded(),
            Command::new("display-message").flag('p').arg("after"),
        ])
        .unwrap();
    assert_eq!(answers.pop().unwrap().unwrap().first_line(), "after");
    assert_eq!(answers.remove(0).unwrap().first_line(), "before");
}

#[test]
fn keys_leave_copy_mode() {
    let tmux = server();
    let pane = tmux.session("copying");
    assert!(tmux.words(&["copy-mode", "-t", &pane.to_string()]).status.success());
    tmux.server.type_into(&Input::text(pane, "typed")).unwrap();
    let screen = || tmux.server.capture(pane, CaptureOptions::default()).unwrap();
    eventually("typed", || screen().text().contains("typed"));
}

/// With `paste-buffer` unguarded this ends 3.2a and 3.3a.
#[test]
fn panes_without_a_process_take_nothing_and_say_so() {
    let tmux = server();
    let pid = tmux.server_pid();
    let (control, _notes) = Control::open(&tmux.server).unwrap();
    for (what, pane) in [("dead", dead(&tmux)), ("closed", closed(&tmux)), ("gone", PaneId(99))] {
        // 3.7 calls a pane dead only when it has the exit status as well. Until then it drops keys silently.
        let is_silent = what == "closed" && is_since("3.7");
        let says_so = |outcome: Result<(), Error>, input: &Input| match outcome {
            Err(Error::PaneEnded { pane: of }) => assert_eq!(of, pane),
            Ok(()) if is_silent && *input != inputs(pane)[3] => {}
            outcome => panic!("{what}: {outcome:?}: {input:?}"),
        };
        for input in inputs(pane) {
            says_so(tmux.server.type_into(&input), &input);
        }
        for (input, outcome) in inputs(pane).iter().zip(tmux.server.type_all(&inputs(pane))) {
            says_so(outcome, input);
        }
        let keys = &inputs(pane)[..3];
        let all: Vec<Input> = [keys, &[Input::keys(PaneId(0), ["x"])]].concat();
        let mut outcomes = tmux.server.type_all(&all);
        outcomes.pop().unwrap().unwrap();
        for (input, outcome) in keys.iter().zip(outcomes) {
            says_so(outcome, input);
        }
        for input in keys {
            says_so(input.outcome(control.request_one(input.guarded())), input);
        }
        assert_eq!(buffers(&tmux), "", "{what}: a buffer was left");
        assert_eq!(tmux.server_pid(), pid, "{what}: the server has ended");
    }
    // The control client knows which reply is whose.
    let said = control.request_one(Command::new("display-message").flag('p').arg("still here"));
    assert_eq!(said.unwrap().first_line(), "still here");
}

/// Every tmux command of dogwatch that has to do with a pane. None ends a server, whatever the pane is.
#[test]
fn no_command_ends_the_server() {
    let commands = |pane: PaneId| {
        let new = |name| Command::new(name).target(pane);
        let mut all = vec![
            Command::about_pane(pane, "#{pane_id} #{pane_current_path} #{window_activity}"),
            CaptureOptions::default().command(pane),
            CaptureOptions { lines: Some(100), ansi: true, joined: true }.command(pane),
            new("list-panes"),
            new("set-option").flag('p').args(["@dogwatch_x", "1"]),
            new("set-option").flag('p').flag('u').arg("@dogwatch_x"),
            new("set-option").flag('w').args(["remain-on-exit", "on"]),
            new("show-options").flag('w').flag('v').flag('A').arg("pane-border-style"),
            new("show-environment").arg("DOGWATCH_SESSION"),
            new("select-pane").option('T', "title"),
            new("select-layout").arg("even-vertical"),
            new("resize-pane").option('x', "40"),
            new("resize-window").option('x', "90").option('y', "20"),
            new("split-window").flag('d').flag('h').arg("cat"),
            Command::new("swap-pane").flag('d').option('s', "%0").target(pane),
            Command::new("join-pane").flag('d').option('s', pane.to_string()).target(PaneId(0)),
            new("select-pane"),
            new("select-window"),
            new("has-session"),
            new("move-window").flag('r'),
        ];
        all.extend(inputs(pane).iter().map(Input::guarded));
        all.push(new("kill-pane"));
        all
    };
    let mut table = String::new();
    for what in ["dead", "closed", "closing", "gone"] {
        let tmux = server();
        let pid = tmux.server_pid();
        let pane = match what {
            "dead" => dead(&tmux),
            "closed" => closed(&tmux),
            "closing" => closing(&tmux),
            _ => PaneId(99),
        };
        tmux.server
            .run_one(Command::new("set-buffer").option('b', "dogwatch-test").arg("x"))
            .unwrap();
        for command in commands(pane) {
            let shown = command.to_string();
            let outcome = match tmux.server.run_one(command) {
                Ok(reply) if reply.bytes().len() < 10 => format!("{:?}", reply.first_line()),
                Ok(_) => "answered".to_owned(),
                Err(error) => error.to_string(),
            };
            assert_eq!(tmux.server_pid(), pid, "{what}: {shown} ended the server: {outcome}");
            writeln!(table, "{what}: {shown}: {outcome}").unwrap();
        }
    }
    // Shown with `--no-capture`, for docs/tmux.md.
    println!("{}\n{table}", PrivateTmux::running().ask("#{version}").unwrap());
}

/// Agents die while others type.
#[test]
fn typing_while_processes_die() {
    const TIME: Duration = Duration::from_secs(4);
    const TYPISTS: u32 = 3;
    let tmux = server();
    let pid = tmux.server_pid();
    let stop = AtomicBool::new(false);
    let (mut typed, mut ended) = (0, 0);
    thread::scope(|scope| {
        let typists: Vec<_> = (0..TYPISTS)
            .map(|number| {
                let (tmux, stop) = (&tmux, &stop);
                scope.spawn(move || {
                    let (mut typed, mut ended) = (0_u32, 0_u32);
                    while !stop.load(Ordering::Relaxed) {
                        for row in tmux.server.panes().unwrap() {
                            let buffer = format!("typist-{number}");
                            for input in [
                                Input::paste(row.pane_id, &buffer, "x"),
                                Input::keys(row.pane_id, ["x"]),
                            ] {
                                match tmux.server.type_into(&input) {
                                    Ok(()) => typed += 1,
                                    Err(Error::PaneEnded { .. }) => ended += 1,
                                    Err(error) => panic!("{error}"),
                                }
                            }
                        }
                    }
                    (typed, ended)
                })
            })
            .collect();
        let begun = Instant::now();
        for round in 0.. {
            if begun.elapsed() > TIME || tmux.server_pid() != pid {
                break;
            }
            let names: Vec<String> = (0..4).map(|n| format!("dying-{round}-{n}")).collect();
            let panes: Vec<PaneId> =
                names.iter().map(|name| shell(&tmux, name, "exec cat")).collect();
            let rows = tmux.server.panes().unwrap();
            for row in rows.iter().filter(|row| panes.contains(&row.pane_id)) {
                let process = Pid::from_raw(row.pane_pid.try_into().unwrap()).unwrap();
                kill_process(process, Signal::KILL).unwrap();
            }
            for pane in panes {
                eventually("dead", || is_dead(&tmux, pane));
                tmux.server.run_one(Command::new("kill-pane").target(pane)).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
        for typist in typists {
            let (more, fewer) = typist.join().unwrap();
            typed += more;
            ended += fewer;
        }
    });
    assert_eq!(tmux.server_pid(), pid, "the server has ended");
    assert!(typed > 0 && ended > 0, "typed {typed} times, {ended} times there was no process");
}
