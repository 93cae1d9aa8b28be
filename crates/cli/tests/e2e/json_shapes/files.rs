//! Files and bodies of requests that others read.

use std::fs;
use std::path::Path;

use dogwatch_testkit::TestEnv;

use crate::json_shapes::shape;

/// What a command that is told of an event reads from its standard input.
#[test]
fn told_to_a_command() {
    let env = TestEnv::new();
    let told = env.work().join("told.json");
    let program = env.write_program(
        "tell",
        &format!("cat > {}.new; mv {}.new {}", told.display(), told.display(), told.display()),
    );
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let config = format!(
        "[[notify]]\nkind = 'command'\ncommand = ['{}']\non = ['escalation_raised', 'escalation_answered']\n",
        program.display()
    );
    fs::write(folder.join("config.toml"), config).unwrap();
    let raise = ["escalations", "raise", "budget", "100 of 100 used", "--run", "r", "--json"];
    let output = env.dogwatch(&raise).success();
    let read = |path: &Path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    stored!("told_raised", shape::of_value(read(&told), &output.known));
    let _ = env.dogwatch(&["escalations", "answer", "1", "-o", "2", "--as", "bob"]).success();
    stored!("told_answered", shape::of_value(read(&told), &output.known));
}

/// The runner's records of a session, which `docs/files.md` describes.
#[test]
fn records_of_a_session() {
    let env = TestEnv::new();
    let session = env.spawn_script("one", "exit 3");
    env.wait_state("one", "crashed");
    let output = env.dogwatch(&["ls", "--json"]).success();
    let mut files: Vec<_> =
        fs::read_dir(env.session_dir(&session)).unwrap().flatten().map(|e| e.path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let value = serde_json::from_str(text.trim_end_matches('\0'))
            .unwrap_or_else(|e| panic!("{name}: {e}: {text:?}"));
        stored!(format!("session_{name}"), shape::of_value(value, &output.known));
    }
}
