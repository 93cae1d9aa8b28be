use crate::env::TestEnv;
use crate::process;

#[test]
fn runs_through_without_a_terminal_and_leaves_nothing() {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["demo"]);
    let output = env.run(command.env("TMPDIR", &temporary)).success();
    let text = output.text();
    for words in ["worker", "asker", "failer", "waiting", "answered", "crashed", "What was seen:"] {
        assert!(text.contains(words), "no {words:?} in {output}");
    }
    assert!(!text.contains('\u{1b}'), "no colours where nobody sees them");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its folder is gone");
    assert!(!env.socket().exists() && !env.state_dir().exists(), "the user's own is untouched");
    crate::env::eventually("its processes are gone", || {
        process::carrying(temporary.to_str().unwrap()).is_empty()
    });
}

#[test]
fn can_be_interrupted() {
    let env = TestEnv::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = env.command(&["demo"]);
    command
        .env("TMPDIR", &temporary)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = || process::carrying(temporary.to_str().unwrap()).len() > 3;
    crate::env::eventually("the play has begun", started);
    process::signal(i32::try_from(child.id()).unwrap(), rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    crate::env::eventually("its processes are gone", || {
        process::carrying(temporary.to_str().unwrap()).is_empty()
    });
}
