//! `dogwatch mcp`: what a client sees, also of a server that is killed, and what is refused.

use std::fs;
use std::time::Duration;

use dogwatch_testkit::{McpClient, TestEnv, dogwatch, eventually};
use serde_json::{Value, json};

/// The picture of an agent at its prompt, with an empty box.
pub(crate) const PROMPT: &str =
    "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";
pub(crate) const DIALOG: &str =
    include_str!("../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

pub(crate) fn client(env: &TestEnv) -> McpClient {
    McpClient::start(&mut env.command(&["mcp"]))
}

pub(crate) fn allow(env: &TestEnv, rights: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("[mcp]\nallow = [{rights}]\n")).unwrap();
}

/// An agent that takes messages at its prompt and tells of them by its hook; started by the client as `a`.
pub(crate) fn agent(env: &TestEnv, client: &McpClient) {
    env.write("prompt.txt", PROMPT);
    let scenario = format!(
        "record = 'received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\nhook = {{ event = 'Stop', command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\ngoto = 'ready'\n",
        dogwatch(),
    );
    play(env, client, &scenario, "idle");
}

/// Starts the scripted agent as `a`, and waits for its state.
pub(crate) fn play(env: &TestEnv, client: &McpClient, scenario: &str, state: &str) {
    let file = env.write("agent.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
    let spawned = client.tool("spawn", json!({ "agent": "codex", "name": "a" }));
    assert_eq!(spawned["name"], "a", "{spawned}");
    eventually(state, || client.tool("why", json!({ "session": "a" }))["state"] == state);
}

pub(crate) fn pasted(env: &TestEnv, text: &str) -> usize {
    let bytes = fs::read(env.work().join("received")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).matches(text).count()
}

/// Tool, caller and outcome of every call that is over.
pub(crate) fn recorded(env: &TestEnv) -> Vec<(String, String, String)> {
    let mut all = recorded_all(env);
    all.retain(|(.., outcome)| outcome != "started");
    all
}

/// The same with the records of the starts of those that act.
pub(crate) fn recorded_all(env: &TestEnv) -> Vec<(String, String, String)> {
    let said = env.dogwatch(&["events", "--kind", "tool_call", "--json"]).success().text();
    let events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let text = |event: &Value, key: &str| event["data"][key].as_str().unwrap().to_owned();
    events.map(|e| (text(&e, "tool"), text(&e, "by"), text(&e, "outcome"))).collect()
}

#[test]
fn ten_tools_resources_and_every_call_in_the_journal() {
    let env = TestEnv::new();
    let client = client(&env);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "sessions",
            "why",
            "spawn",
            "send",
            "job_submit",
            "job_result",
            "since",
            "answer",
            "ask_person",
            "capture"
        ]
    );
    for tool in tools {
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    env.spawn_script("build", "echo compiling; exec sleep 600");
    eventually("it is listed", || {
        client.tool("sessions", json!({}))["sessions"][0]["state"] == "working"
    });
    eventually("its screen can be read", || {
        let screen = client.tool("capture", json!({ "session": "build", "lines": 5 }));
        screen["text"] == "compiling"
    });
    let resources = client.request("resources/list", json!({}));
    assert_eq!(resources["result"]["resources"][1]["uri"], "dogwatch://session/build");
    let read = client.request("resources/read", json!({ "uri": "dogwatch://session/build" }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["name"], "build");
    assert_eq!(client.close(), Some(0), "a client that leaves ends it");
    let about =
        env.dogwatch(&["events", "build", "--kind", "tool_call", "--json"]).success().text();
    assert!(about.contains("\"capture\"") && !about.contains("\"sessions\""), "{about}");
    let calls = recorded(&env);
    let [.., (capture, by, _), (list, ..), (read, _, outcome)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!((capture.as_str(), list.as_str()), ("capture", "sessions"));
    assert_eq!(
        (read.as_str(), outcome.as_str()),
        ("why", "ok"),
        "a resource is what a tool returns"
    );
    assert!(by.ends_with("by testkit (MCP)"), "{by}");
}

#[test]
fn bad_input_is_a_clear_error_and_changes_nothing() {
    let env = TestEnv::new();
    let client = client(&env);
    env.spawn_script("build", "exec sleep 600");
    let long = "x".repeat(1_000_000);
    let table = [
        ("sessions", json!({ "colour": 1 }), "unknown field `colour`"),
        ("sessions", json!({ "states": ["sleepy"] }), "unknown state \"sleepy\""),
        ("why", json!({}), "missing field `session`"),
        ("why", json!({ "session": 3 }), "invalid type"),
        ("why", json!({ "session": "of somebody else" }), "no session"),
        ("capture", json!({ "session": "build", "lines": 100_000 }), "from 1 to 200"),
        ("since", json!({ "cursor": 99_999 }), "none of this journal"),
        ("since", json!({ "cursor": -1 }), "none of this journal"),
        ("since", json!({ "cursor": 0, "wait": 46 }), "at most 45"),
        ("since", json!({ "cursor": 0, "sessions": ["gone"] }), "no session"),
        ("spawn", json!({ "agent": "nobody" }), "unknown agent"),
        ("spawn", json!({ "agent": "claude", "model": "--evil" }), "model"),
        ("spawn", json!({ "agent": "claude", "prompt": long }), "prompt has 1000000 bytes"),
        ("spawn", json!({ "agent": "claude", "cwd": "/no/such/place" }), "does not exist"),
        ("spawn", json!({ "agent": "claude", "unattended": true }), "not_allowed"),
        ("send", json!({ "session": "build", "text": "hello" }), "plain command"),
        ("send", json!({ "session": "build", "text": long }), "1000000 bytes, at most 102400"),
        ("job_submit", json!({ "session": "build", "prompt": "x", "key": " " }), "key"),
        ("job_submit", json!({ "session": "build", "prompt": long, "key": "k" }), "1000000 bytes"),
        ("job_result", json!({ "job": "01a1df96" }), "no_such_job"),
        (
            "answer",
            json!({ "session": "build", "mark": "7f3a90c1", "choice": "1" }),
            "no open dialog",
        ),
        ("ask_person", json!({ "question": "" }), "question must have"),
        ("ask_person", json!({ "question": "?", "session": "gone" }), "no session"),
    ];
    for (tool, arguments, says) in table {
        let error = client.refused(tool, arguments);
        assert!(error.starts_with("error (") && error.contains(says), "{tool}: {error}");
        assert!(error.len() < 1_200, "{tool}: {} bytes", error.len());
    }
    let unknown = client.request("tools/call", json!({ "name": "kill", "arguments": {} }));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("unknown tool"), "{unknown}");
    let nowhere = client.request("resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert!(
        nowhere["error"]["message"].as_str().unwrap().contains("no such resource"),
        "{nowhere}"
    );
    for params in [json!({ "name": "why", "arguments": [] }), json!({ "arguments": {} })] {
        let unread = client.request("tools/call", params);
        assert_eq!(unread["error"]["code"], -32602, "{unread}");
        assert!(unread["error"]["message"].as_str().unwrap().contains("`arguments` an object"));
    }
    assert_eq!(client.request("resources/read", json!({ "uri": 7 }))["error"]["code"], -32602);
    assert_eq!(client.request("no/such", json!({}))["error"]["code"], -32601);
    client.write_line("{ this is not JSON");
    client.write_line("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"no/such/method\"}");
    assert_eq!(client.tool("sessions", json!({}))["sessions"].as_array().unwrap().len(), 1);
    assert!(
        env.dogwatch(&["messages", "--json"]).json()["messages"].as_array().unwrap().is_empty()
    );
}

/// Another user has another state directory and another tmux server: neither names nor ids lead there.
#[test]
fn sessions_of_other_users_are_not_there() {
    let (env, other) = (TestEnv::new(), TestEnv::new());
    let theirs = other.spawn_script("secret", "echo password; exec sleep 600");
    let client = client(&env);
    for session in ["secret", theirs.id.as_str()] {
        let table = [
            ("why", json!({ "session": session })),
            ("capture", json!({ "session": session })),
            ("send", json!({ "session": session, "text": "hello" })),
            ("job_submit", json!({ "session": session, "prompt": "hello", "key": "k" })),
            ("answer", json!({ "session": session, "mark": "7f3a90c1", "choice": "1" })),
            ("ask_person", json!({ "session": session, "question": "Which?" })),
        ];
        for (tool, arguments) in table {
            let error = client.refused(tool, arguments);
            assert!(error.starts_with("error (no_such_session): no session"), "{tool}: {error}");
        }
        let uri = format!("dogwatch://session/{session}");
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert!(read["error"]["message"].as_str().unwrap().contains("no session"), "{read}");
    }
    assert_eq!(client.tool("sessions", json!({}))["sessions"], json!([]));
}

/// There is no tool that ends a session, and no other one does: words that an agent would take as the wish to end are no messages.
#[test]
fn no_tool_ends_a_session() {
    let env = TestEnv::new();
    let client = client(&env);
    agent(&env, &client);
    for text in ["exit", " quit\n", ":q!", ":WQ", "/exit", "/quit", "!kill $PPID"] {
        for tool in ["send", "job_submit"] {
            let arguments = json!({ "session": "a", "text": text });
            let submit = json!({ "session": "a", "prompt": text, "key": "k" });
            let error = client.refused(tool, if tool == "send" { arguments } else { submit });
            assert!(error.starts_with("error (bad_argument)"), "{tool} {text:?}: {error}");
        }
    }
    assert_eq!(pasted(&env, "exit") + pasted(&env, "quit") + pasted(&env, ":q"), 0);
    assert_eq!(client.tool("why", json!({ "session": "a" }))["state"], "idle");
}

#[test]
fn a_policy_says_which_tools_there_are() {
    let env = TestEnv::new();
    allow(&env, "'sessions', 'since'");
    let client = client(&env);
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2, "{listed}");
    let error = client.refused("spawn", json!({ "agent": "claude" }));
    assert!(error.contains("not_allowed") && error.contains("[mcp]"), "{error}");
    env.spawn_script("build", "exec sleep 600");
    let resources = client.request("resources/list", json!({}));
    let resources = resources["result"]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 1, "`why` is not allowed: {resources:?}");
    let refused = client.request("resources/read", json!({ "uri": "dogwatch://session/build" }));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let missing = client.request("resources/read", json!({ "uri": "dogwatch://sessions/" }));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    let calls = recorded_all(&env);
    for tool in ["why", "spawn"] {
        let of = calls.iter().filter(|call| call.0 == tool).map(|call| call.2.as_str());
        assert_eq!(of.collect::<Vec<_>>(), ["not_allowed"], "{tool} did not start");
    }
    allow(&env, "'fly'");
    let refused = env.dogwatch(&["mcp"]).code(2);
    assert!(refused.to_string().contains("unknown right \"fly\""), "{refused}");
}

#[test]
fn permissions_are_not_approved_unless_a_person_allows_it() {
    let env = TestEnv::new();
    let client = client(&env);
    env.write("dialog.txt", DIALOG.trim_end());
    let scenario = "record = 'received'\n[[step]]\nraw = true\n[[step]]\nscreen = { file = 'dialog.txt' }\n\
                    [[step]]\n[step.input]\nwant = 'line'\n";
    play(&env, &client, scenario, "waiting");
    let listed = client.tool("sessions", json!({ "states": ["waiting"] }));
    let waiting = &listed["sessions"][0];
    assert_eq!(waiting["waits_for"], "permission", "{listed}");
    let answer = json!({ "session": "a", "mark": waiting["mark"], "choice": "1" });
    let error = client.refused("answer", answer.clone());
    assert!(error.contains("not_allowed") && error.contains("a person decides"), "{error}");
    let error =
        client.refused("answer", json!({ "session": "a", "mark": "00000000", "choice": "1" }));
    assert!(error.contains("other_dialog"), "a mark of a dialog that is gone: {error}");
    assert_eq!(pasted(&env, "\r"), 0, "nothing was pressed");
    let outcomes: Vec<_> =
        recorded(&env).into_iter().filter(|(tool, ..)| tool == "answer").collect();
    assert_eq!((outcomes[0].2.as_str(), outcomes[1].2.as_str()), ("not_allowed", "other_dialog"));
    allow(&env, "'answer', 'approve'");
    let bold = self::client(&env);
    // The scripted dialog does not close: what matters is that a key was pressed.
    bold.begin_tool("answer", answer);
    eventually("Enter was pressed", || pasted(&env, "\r") > 0);
}

#[test]
fn messages_and_jobs_arrive_once() {
    let env = TestEnv::new();
    let client = client(&env);
    agent(&env, &client);
    let sent = client.tool("send", json!({ "session": "a", "text": "first message" }));
    assert_eq!((&sent["outcome"], &sent["proof"]), (&json!("delivered"), &json!("hook")), "{sent}");
    let submit = json!({ "session": "a", "prompt": "do the work", "key": "k1" });
    let calls: Vec<u64> =
        (0..10).map(|_| client.begin_tool("job_submit", submit.clone())).collect();
    let replies: Vec<Value> = calls.into_iter().map(|id| client.reply(id)).collect();
    let jobs: Vec<&Value> = replies.iter().map(|r| &r["result"]["structuredContent"]).collect();
    assert!(jobs.iter().all(|job| job["id"].is_string() && job["id"] == jobs[0]["id"]), "{jobs:?}");
    assert_eq!(jobs.iter().filter(|job| job["repeated"] != true).count(), 1, "{jobs:?}");
    let result = json!({ "job": jobs[0]["id"] });
    eventually("the job ends", || {
        let state = client.tool("job_result", result.clone())["state"].clone();
        state == "done" || state == "failed"
    });
    assert_eq!(pasted(&env, "do the work"), 1);
    let other = json!({ "session": "a", "prompt": "something else", "key": "k1" });
    assert!(client.refused("job_submit", other).contains("key_reused"));
    let twice = client.refused("spawn", json!({ "agent": "codex", "name": "a" }));
    assert!(twice.contains("name_in_use"), "{twice}");
}

#[test]
fn a_server_that_is_killed_in_a_call_loses_nothing_and_does_nothing_twice() {
    let env = TestEnv::new();
    let first = client(&env);
    agent(&env, &first);
    let submit =
        |n: usize| json!({ "session": "a", "prompt": format!("task {n}."), "key": n.to_string() });
    for n in 0..5 {
        let server = client(&env);
        server.begin_tool("job_submit", submit(n));
        // At another moment each time: before, while and after the prompt is typed.
        let begun = std::time::Instant::now();
        let moment = Duration::from_millis(60 * n as u64);
        eventually("the moment comes", || begun.elapsed() >= moment);
        server.kill();
    }
    let server = client(&env);
    let jobs: Vec<Value> =
        (0..5).map(|n| server.tool("job_submit", submit(n))["id"].clone()).collect();
    let times = |n: usize| pasted(&env, &format!("task {n}."));
    // Killed between writing down that it types and typing, it may not type again: such a job has failed, and says so.
    let has_failed = |n: usize| {
        let job = server.tool("job_submit", submit(n));
        job["state"] == "failed" && job["because"].as_str().unwrap().contains("did not appear")
    };
    for (n, job) in jobs.iter().enumerate() {
        eventually("every task arrives, or its job fails", || times(n) == 1 || has_failed(n));
        assert_eq!(server.tool("job_submit", submit(n))["id"], *job);
    }
    let listed = env.dogwatch(&["job", "ls", "--json"]).success().json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 5, "{listed:#}");
    for n in 0..5 {
        assert_eq!(times(n), usize::from(!has_failed(n)), "task {n}");
    }
}

#[test]
fn a_hundred_calls_at_once() {
    let env = TestEnv::new();
    let client = client(&env);
    env.spawn_script("build", "exec sleep 600");
    let cursor = client.tool("sessions", json!({}))["cursor"].clone();
    let waits = json!({ "cursor": cursor, "wait": 45 });
    let waiting: Vec<u64> = (0..40).map(|_| client.begin_tool("since", waits.clone())).collect();
    let quick: Vec<(u64, bool)> = (0..60)
        .map(|n| match n % 3 {
            0 => (client.begin_tool("sessions", json!({})), false),
            1 => (client.begin_tool("why", json!({ "session": "build" })), false),
            _ => (client.begin_tool("why", json!({ "session": "none" })), true),
        })
        .collect();
    for (id, is_error) in quick {
        let reply = client.reply(id);
        assert_eq!(reply["result"]["isError"], is_error, "{reply}");
    }
    // No waiting call blocked the answers to others, and one end answers all of them.
    let _ended = env.dogwatch(&["kill", "build", "--now"]).success();
    for id in waiting {
        let reply = client.reply(id);
        let changes = &reply["result"]["structuredContent"]["changes"];
        assert_eq!(
            (&changes[0]["session"], &changes[0]["state"]),
            (&json!("build"), &json!("stopped")),
            "{reply}"
        );
    }
}

#[test]
fn waiting_reports_progress_and_can_be_cancelled() {
    let env = TestEnv::new();
    let client = client(&env);
    let cursor = client.tool("since", json!({}))["cursor"].clone();
    let id = client.begin_tool("since", json!({ "cursor": cursor, "wait": 45 }));
    eventually("it says that it goes on", || {
        client.notes().iter().any(|note| {
            note["method"] == "notifications/progress" && note["params"]["progressToken"] == "since"
        })
    });
    client.write(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "enough" }
    }));
    eventually("the call is over, and recorded", || {
        recorded(&env).iter().any(|(tool, _, outcome)| tool == "since" && outcome == "cancelled")
    });
    // A message that is not typed yet is taken back.
    env.write("dialog.txt", DIALOG.trim_end());
    let scenario = "[[step]]\nraw = true\n[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nstall = 'forever'\n";
    play(&env, &client, scenario, "waiting");
    let id = client.begin_tool("send", json!({ "session": "a", "text": "too late", "wait": 45 }));
    let messages = || env.dogwatch(&["messages", "--json"]).success().json()["messages"].clone();
    eventually("the message is posted", || messages()[0]["text"] == "too late");
    client.write(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id }
    }));
    eventually("it is taken back", || messages()[0]["because"] == "cancelled");
    let asked = json!({ "question": "Which one?", "options": ["left", "right"], "key": "q" });
    let asked = client.tool("ask_person", asked);
    let waits = json!({ "cursor": asked["cursor"], "wait": 45 });
    let id = client.begin_tool("since", waits);
    let number = asked["number"].to_string();
    let _answered = env
        .dogwatch(&["escalations", "answer", &number, "--option", "2", "--note", "it is shorter"])
        .success();
    let reply = client.reply(id);
    let change = &reply["result"]["structuredContent"]["changes"][0];
    assert_eq!(
        (&change["what"], &change["state"]),
        (&json!("question"), &json!("answered")),
        "{reply}"
    );
    assert!(change["detail"].as_str().unwrap().starts_with("right: it is shorter"), "{reply}");
    // A session that fails to start leaves a gap in the journal, and nothing was missed.
    let cursor = client.tool("since", json!({}))["cursor"].clone();
    env.tmux(&["new-session", "-d", "-s", "taken", "cat"]);
    let failed = client.refused("spawn", json!({ "agent": "codex", "name": "taken" }));
    assert!(failed.contains("name_in_use"), "{failed}");
    let changes = client.tool("since", json!({ "cursor": cursor }));
    assert_eq!(changes["missed"], Value::Null, "{changes}");
    let again = client.tool("ask_person", json!({ "question": "Which one?", "key": "q" }));
    assert_eq!(again["answer"], "right", "{again}");
    let other = client.refused("ask_person", json!({ "question": "And now?", "key": "q" }));
    assert!(other.contains("key_reused"), "{other}");
}
