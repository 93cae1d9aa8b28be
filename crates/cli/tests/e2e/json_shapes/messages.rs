//! Messages, answers and jobs.

use dogwatch_testkit::{TestEnv, dogwatch, eventually};

const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";
const DIALOG: &str =
    include_str!("../../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

/// An agent at its prompt. To `ask` it answers with a dialog, which any key closes; it works at `long` until it is interrupted, and dies of
/// `die`.
fn agent(env: &TestEnv) {
    env.write("prompt.txt", PROMPT);
    env.write("dialog.txt", DIALOG.trim_end());
    let hook = |event: &str, payload: &str| {
        format!(
            "[[step]]\nhook = {{ event = '{event}', {payload} command = ['{}', 'hook', 'codex'] }}\n",
            dogwatch()
        )
    };
    let submitted = hook("UserPromptSubmit", "payload = { prompt = '{input}' },");
    let stop = hook("Stop", "");
    let scenario = format!(
        "[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         on = [{{ input = 'ask', goto = 'ask' }}, {{ input = 'long', goto = 'long' }}, {{ input = 'die', goto = 'die' }}]\nelse = 'taken'\n\
         [[step]]\nlabel = 'taken'\n\
         {submitted}{stop}[[step]]\ngoto = 'ready'\n\
         [[step]]\nlabel = 'ask'\n{submitted}[[step]]\nscreen = {{ file = 'dialog.txt' }}\n\
         [[step]]\n[step.input]\nwant = 'key'\necho = 'never'\n{stop}[[step]]\ngoto = 'ready'\n\
         [[step]]\nlabel = 'long'\n{submitted}[[step]]\n[step.input]\nwant = 'key'\necho = 'never'\n{stop}[[step]]\ngoto = 'ready'\n\
         [[step]]\nlabel = 'die'\n[[step]]\ncrash = 'KILL'\n",
    );
    let file = env.write("agent.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
    env.spawn(&["codex", "--name", "a"]);
    idle(env);
}

fn idle(env: &TestEnv) {
    eventually("it is at its prompt", || {
        env.dogwatch(&["why", "a", "--json"]).success().json()["state"] == "idle"
    });
}

#[test]
fn sent_and_answered() {
    let env = TestEnv::new();
    agent(&env);
    shape!("messages_none", env.dogwatch(&["messages", "--json"]).success());
    shape!(
        "send_delivered",
        env.dogwatch(&["send", "a", "hello there\r\n", "--timeout", "20s", "--json"]).success()
    );
    idle(&env);
    let _ = env.dogwatch(&["send", "a", "ask", "--timeout", "20s"]).success();
    eventually("it asks", || {
        env.dogwatch(&["why", "a", "--json"]).success().json()["state"] == "waiting"
    });
    shape!("why_dialog", env.dogwatch(&["why", "a", "--json"]).success());
    shape!(
        "send_refused",
        env.dogwatch(&["send", "a", "not now", "--timeout", "10ms", "--json"]).code(4)
    );
    shape!("answer", env.dogwatch(&["answer", "a", "1", "--json"]).success());
    idle(&env);
    let _ = env.dogwatch(&["send", "a", "long", "--timeout", "20s"]).success();
    shape!(
        "send_queued",
        env.dogwatch(&["send", "a", "later", "--timeout", "10ms", "--json"]).code(124)
    );
    let pending = env.dogwatch(&["messages", "--pending", "--json"]).success();
    let id = pending.json()["messages"][0]["id"].as_str().unwrap().to_owned();
    shape!("messages_pending", pending);
    shape!("messages_cancel", env.dogwatch(&["messages", "--cancel", &id, "--json"]).success());
    shape!("messages", env.dogwatch(&["messages", "a", "--json"]).success());
    let _ = env.dogwatch(&["kill", "a", "--now"]).success();
    shape!("send_failed", env.dogwatch(&["send", "a", "too late", "--json"]).code(1));
}

#[test]
fn jobs() {
    let env = TestEnv::new();
    agent(&env);
    shape!("job_ls_none", env.dogwatch(&["job", "ls", "--json"]).success());
    shape!(
        "job_done",
        env.dogwatch(&["job", "submit", "a", "hello", "--wait", "--timeout", "20s", "--json"])
            .success()
    );
    idle(&env);
    let submitted =
        env.dogwatch(&["job", "submit", "a", "long", "--timeout", "20s", "--json"]).success();
    let id = submitted.json()["id"].as_str().unwrap().to_owned();
    eventually("it runs", || {
        env.dogwatch(&["job", "show", &id, "--json"]).success().json()["state"] == "running"
    });
    shape!("job_running", env.dogwatch(&["job", "show", &id, "--json"]).success());
    shape!(
        "job_wait_timeout",
        env.dogwatch(&["job", "wait", &id, "--timeout", "10ms", "--json"]).code(124)
    );
    shape!("status_with_job", env.dogwatch(&["status", "--json"]).success());
    shape!(
        "job_queued",
        env.dogwatch(&["job", "submit", "a", "after that", "--timeout", "10ms", "--json"])
            .code(124)
    );
    let listed = env.dogwatch(&["job", "ls", "--json"]).success().json();
    let queued = listed["jobs"][2]["id"].as_str().unwrap().to_owned();
    shape!("job_cancel_queued", env.dogwatch(&["job", "cancel", &queued, "--json"]).success());
    let _ = env.dogwatch(&["kill", "a", "--now"]).success();
    shape!("job_failed", env.dogwatch(&["job", "wait", &id, "--timeout", "20s", "--json"]).code(1));
    shape!("job_ls", env.dogwatch(&["job", "ls", "--json"]).success());
    shape!("job_over", env.dogwatch(&["job", "cancel", &id, "--json"]).code(4));
}
