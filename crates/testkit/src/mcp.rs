//! A client of `dogwatch mcp`, as small as can be.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than the longest call.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub struct McpClient {
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    heard: Arc<Heard>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Heard {
    replies: Mutex<HashMap<u64, Value>>,
    notes: Mutex<Vec<Value>>,
    is_over: Mutex<bool>,
    news: Condvar,
}

impl McpClient {
    /// Starts the server with this command and shakes hands.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let client = Self::start_silent(command);
        let who = json!({ "name": "testkit", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        let reply = client.request("initialize", hello);
        assert_eq!(reply["result"]["serverInfo"]["name"], "dogwatch", "{reply}");
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Starts the server and says nothing yet.
    pub fn start_silent(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("dogwatch can be started");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it was asked for");
        let heard = Arc::new(Heard::default());
        let hearing = Arc::clone(&heard);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).expect("only JSON on stdout");
                let mut replies = hearing.replies.lock().unwrap();
                match message["id"].as_u64().filter(|_| message.get("method").is_none()) {
                    Some(id) => drop(replies.insert(id, message)),
                    None => hearing.notes.lock().unwrap().push(message),
                }
                hearing.news.notify_all();
            }
            let _replies = hearing.replies.lock().unwrap();
            *hearing.is_over.lock().unwrap() = true;
            hearing.news.notify_all();
        });
        Self { child: Mutex::new(child), stdin: Mutex::new(stdin), heard, next: AtomicU64::new(1) }
    }

    pub fn write(&self, message: &Value) {
        self.write_line(&message.to_string());
    }

    pub fn write_line(&self, line: &str) {
        let mut stdin = self.stdin.lock().unwrap();
        if let Some(stdin) = stdin.as_mut() {
            // The server may have been killed.
            drop(stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()));
        }
    }

    /// Sends a request without waiting for its reply; returns its id.
    pub fn begin(&self, method: &str, params: Value) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a call of a tool without waiting for it.
    pub fn begin_tool(&self, name: &str, arguments: Value) -> u64 {
        let meta = json!({ "progressToken": name });
        self.begin("tools/call", json!({ "name": name, "arguments": arguments, "_meta": meta }))
    }

    /// The reply to a request; null if the server ended before.
    #[track_caller]
    pub fn reply(&self, id: u64) -> Value {
        let until = Instant::now() + PATIENCE;
        let mut replies = self.heard.replies.lock().unwrap();
        loop {
            if let Some(reply) = replies.remove(&id) {
                return reply;
            }
            if *self.heard.is_over.lock().unwrap() {
                return Value::Null;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no reply to request {id}");
            replies = self.heard.news.wait_timeout(replies, left).unwrap().0;
        }
    }

    /// Whether the reply to a request has come.
    pub fn has_reply(&self, id: u64) -> bool {
        self.heard.replies.lock().unwrap().contains_key(&id)
    }

    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.reply(id)
    }

    /// The structured result of a tool, which must succeed.
    #[track_caller]
    pub fn tool(&self, name: &str, arguments: Value) -> Value {
        let reply = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        let result = &reply["result"];
        assert_eq!(result["isError"], false, "{name}: {reply}");
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "both say the same");
        result["structuredContent"].clone()
    }

    /// The text of a tool's error.
    #[track_caller]
    pub fn refused(&self, name: &str, arguments: Value) -> String {
        let reply = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(reply["result"]["isError"], true, "{name}: {reply}");
        reply["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// What the server said without being asked.
    pub fn notes(&self) -> Vec<Value> {
        self.heard.notes.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Kills the server.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }

    /// Closes the connection; the server's exit code.
    pub fn close(&self) -> Option<i32> {
        self.stdin.lock().unwrap().take();
        self.child.lock().unwrap().wait().expect("it is ours").code()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        if let (Ok(mut stdin), Ok(mut child)) = (self.stdin.lock(), self.child.lock()) {
            stdin.take();
            drop(child.kill());
            drop(child.wait());
        }
    }
}
