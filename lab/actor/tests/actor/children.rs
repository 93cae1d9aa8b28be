//! Children that a session leaves behind, or does not.

use dogwatch_testkit::{process::is_alive, wait_until};
use rustix::process::{Pid, Signal, getsid, kill_process};

use crate::pane::Pane;
use crate::script::Script;

/// A process that is ended with the test, whatever happens.
struct Stray(Pid);

impl Stray {
    fn read(script: &Script, name: &str) -> Self {
        let pid = script.wait_for_file(name).parse().ok();
        Self(pid.and_then(Pid::from_raw).expect("a process id"))
    }

    fn lives(&self) -> bool {
        is_alive(self.0.as_raw_nonzero().get())
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        if self.lives() {
            let _ = kill_process(self.0, Signal::KILL);
        }
    }
}

#[test]
fn only_a_daemon_outlives_its_terminal() {
    let script = Script::new(
        r#"
        [[step]]
        spawn = { for = "1m", pid_file = "plain" }
        [[step]]
        spawn = { for = "1m", pid_file = "nohup", ignore_hangup = true }
        [[step]]
        spawn = { for = "1m", pid_file = "daemon", session = "own" }
        [[step]]
        stall = "forever"
        "#,
    );
    let pane = Pane::play(&script);
    let plain = Stray::read(&script, "plain");
    let nohup = Stray::read(&script, "nohup");
    let daemon = Stray::read(&script, "daemon");
    let leader = getsid(Some(plain.0)).expect("a session");
    assert_eq!(pane.show("#{pane_pid}"), leader.to_string());
    assert_eq!(getsid(Some(nohup.0)), Ok(leader));
    assert_eq!(getsid(Some(daemon.0)), Ok(daemon.0));

    drop(pane);
    wait_until("the end of the plain child", || (!plain.lives()).then_some(()));
    assert!(nohup.lives());
    assert!(daemon.lives());
}

#[test]
fn a_child_sleeps_only_so_long() {
    let script =
        Script::new("[[step]]\nspawn = { for = \"10ms\", pid_file = \"pid\", session = \"own\" }");
    let status = script.on_pipes().status().expect("it runs");
    assert_eq!(status.code(), Some(0));
    let child = Stray::read(&script, "pid");
    wait_until("the child's end", || (!child.lives()).then_some(()));
}
