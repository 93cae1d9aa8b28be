//! `dogwatch mcp`: dialogs through `since` and `answer`, and calls that are cut short, cancelled or too many.

use std::time::{Duration, Instant};

use dogwatch_testkit::{McpClient, TestEnv, dogwatch, eventually, wait_until};
use serde_json::{Value, json};

use crate::mcp::{DIALOG, PROMPT, client, pasted, play, recorded, recorded_all};

const QUESTION: &str = "• I have a question first.\n\n\
    \x20 Question 1/1 (1 unanswered)\n\
    \x20 Which database should I use?\n\n\
    \x20 › 1. PostgreSQL         choose PostgreSQL\n\
    \x20   2. SQLite             choose SQLite\n\
    \x20   3. None of the above  Optionally, add details in notes (tab)\n\n\
    \x20 tab to add notes | enter to submit answer | esc to interrupt";

/// An agent with an open dialog that is never answered, as `a`.
fn waiting(env: &TestEnv, client: &McpClient) {
    env.write("dialog.txt", DIALOG.trim_end());
    let scenario = "record = 'received'\n[[step]]\nraw = true\n\
                    [[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nstall = 'forever'\n";
    play(env, client, scenario, "waiting");
}

fn cancel(client: &McpClient, id: u64) {
    client.write(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id }
    }));
}

/// An agent reports its question by a hook before it draws the dialog: what the journal has is not enough to answer it.
#[test]
fn a_question_comes_with_its_mark_and_can_be_answered_once() {
    let env = TestEnv::new();
    let client = client(&env);
    env.write("prompt.txt", PROMPT);
    env.write("question.txt", QUESTION);
    let scenario = format!(
        "record = 'received'\n[[step]]\nraw = true\n\
         [[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\nawait_file = {{ path = 'ask', within = '60s' }}\n\
         [[step]]\nhook = {{ event = 'PermissionRequest', command = ['{0}', 'hook', 'codex'], payload = {{ \
         tool_name = 'request_user_input', tool_input = {{ questions = [{{ question = 'Which database should I use?' }}] }} }} }}\n\
         [[step]]\nawait_file = {{ path = 'draw', within = '60s' }}\n\
         [[step]]\nscreen = {{ file = 'question.txt' }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\nhook = {{ event = 'Stop', command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\nstall = 'forever'\n",
        dogwatch(),
    );
    play(&env, &client, &scenario, "idle");
    let cursor = client.tool("since", json!({}))["cursor"].clone();
    let after = json!({ "cursor": cursor, "sessions": ["a"] });
    env.write("ask", "");
    // Nothing else looks at it: `since` does, also if it does not wait.
    let changed = wait_until("`since` returns the question", || {
        let changes = client.tool("since", after.clone())["changes"].clone();
        (changes[0]["state"] == "waiting").then_some(changes)
    });
    assert_eq!(changed[0]["mark"], Value::Null, "it is not drawn: {changed}");
    assert_eq!(changed[0]["question"], "Which database should I use?", "{changed}");
    env.write("draw", "");
    let mut waits = after.clone();
    waits["wait"] = json!(10);
    let changed = wait_until("it is drawn", || {
        let changes = client.tool("since", waits.clone())["changes"].clone();
        changes[0]["mark"].is_string().then_some(changes)
    });
    assert_eq!(
        changed[0]["options"][1].as_str().map(|text| &text[..6]),
        Some("SQLite"),
        "{changed}"
    );
    let answer = json!({ "session": "a", "mark": changed[0]["mark"], "choice": "1" });
    let answered = client.tool("answer", answer.clone());
    assert_eq!(answered["outcome"], "answered", "{answered}");
    let id = client.tool("why", json!({ "session": "a" }))["id"].clone();
    let by_id = client.tool("since", json!({ "cursor": cursor, "sessions": [id] }));
    assert_eq!(by_id["changes"][0]["session"], "a", "{by_id}");
    let gone = client.refused("answer", answer);
    assert!(gone.contains("no open dialog"), "its mark was valid before: {gone}");
    assert_eq!(pasted(&env, "\r"), 1, "nothing was pressed twice");
}

#[test]
fn a_call_that_is_killed_or_cut_short_is_in_the_journal() {
    let env = TestEnv::new();
    let first = client(&env);
    waiting(&env, &first);
    first.begin_tool("send", json!({ "session": "a", "text": "one", "wait": 45 }));
    let messages = || env.dogwatch(&["messages", "--json"]).success().json()["messages"].clone();
    eventually("it is posted", || messages()[0]["text"] == "one");
    first.kill();
    let of_send = || {
        let calls = recorded_all(&env).into_iter().filter(|call| call.0 == "send");
        calls.map(|call| call.2).collect::<Vec<_>>()
    };
    assert_eq!(of_send(), ["started"]);
    // A client that goes away in a call ends the server, and loses nothing.
    let second = client(&env);
    second.begin_tool("send", json!({ "session": "a", "text": "two", "wait": 45 }));
    eventually("it is posted", || messages().as_array().unwrap().len() == 2);
    assert_eq!(second.close(), Some(0));
    let kept = messages();
    let is_open = |message: &Value| message["outcome"].is_null() || message["outcome"] == "queued";
    let is_taken_back = |message: &Value| message["because"] == "cancelled";
    assert!(kept.as_array().unwrap().iter().all(|m| is_open(m) || is_taken_back(m)), "{kept}");
    assert_eq!(pasted(&env, "one") + pasted(&env, "two"), 0, "there is a dialog");
}

/// Whatever the moment: the journal says what really happened.
#[test]
fn a_cancelled_call_is_recorded_as_it_went() {
    let env = TestEnv::new();
    let client = client(&env);
    waiting(&env, &client);
    env.add_profile("gemini", "", "exec sleep 600");
    for n in 0..5 {
        let name = format!("w{n}");
        let begun = Instant::now();
        let spawn = client.begin_tool("spawn", json!({ "agent": "gemini", "name": name }));
        let text = format!("message {n}");
        let send = client.begin_tool("send", json!({ "session": "a", "text": text, "wait": 45 }));
        let moment = Duration::from_millis(20 * n);
        eventually("the moment comes", || begun.elapsed() >= moment);
        cancel(&client, send);
        cancel(&client, spawn);
    }
    let ended = |tool: &str| {
        let calls = recorded(&env).into_iter().filter(move |call| call.0 == tool);
        calls.map(|call| call.2).collect::<Vec<_>>()
    };
    eventually("all are over", || ended("send").len() == 5 && ended("spawn").len() == 6);
    assert!(ended("send").iter().all(|outcome| outcome == "cancelled"), "{:?}", ended("send"));
    let listed = client.tool("sessions", json!({}))["sessions"].as_array().unwrap().len();
    let started = ended("spawn").iter().filter(|outcome| *outcome == "ok").count();
    assert_eq!(listed, started, "{:?}", ended("spawn"));
    let messages = env.dogwatch(&["messages", "--json"]).success().json()["messages"].clone();
    let is_taken_back = |message: &Value| message["because"] == "cancelled";
    assert!(messages.as_array().unwrap().iter().all(is_taken_back), "{messages:#}");
}

#[test]
fn a_hundred_calls_that_act_and_none_keeps_others_waiting() {
    let env = TestEnv::new();
    let client = client(&env);
    waiting(&env, &client);
    let send = |n: usize| json!({ "session": "a", "text": format!("message {n}"), "wait": 45 });
    let sends: Vec<u64> = (0..40).map(|n| client.begin_tool("send", send(n))).collect();
    let asked: Vec<u64> = (0..60)
        .map(|n| {
            let question = json!({ "question": "Which?", "key": (n % 30).to_string() });
            client.begin_tool("ask_person", question)
        })
        .collect();
    let numbers: Vec<String> = asked
        .iter()
        .map(|id| client.reply(*id)["result"]["structuredContent"]["number"].to_string())
        .collect();
    assert_eq!(numbers[..30], numbers[30..], "a key is one question");
    let why = client.tool("why", json!({ "session": "a" }));
    assert_eq!(why["state"], "waiting");
    assert!(!sends.iter().any(|id| client.has_reply(*id)), "they wait for the agent");
    for id in &sends {
        cancel(&client, *id);
    }
    eventually("all are over", || {
        recorded(&env).iter().filter(|call| call.0 == "send" && call.2 == "cancelled").count() == 40
    });
    assert_eq!(pasted(&env, "message"), 0);
}

#[test]
fn a_client_of_an_older_protocol_is_served() {
    let env = TestEnv::new();
    let client = McpClient::start_silent(&mut env.command(&["mcp"]));
    let who = json!({ "name": "old", "version": "1" });
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": who });
    let reply = client.request("initialize", hello);
    assert_eq!(reply["result"]["protocolVersion"], "2024-11-05", "{reply}");
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(client.tool("sessions", json!({}))["sessions"], json!([]));
}
