use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;

const ID: &str = "b3a7c2f0-0000-4000-8000-000000000001";
const OTHER_ID: &str = "b3a7c2f0-0000-4000-8000-000000000002";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_000 + seconds).unwrap()
}

/// A world without drift: one claude session in the registry, alive, with its conversation on disk.
struct World {
    file: Value,
    observed: Observed,
    reported: Reported,
    now: Timestamp,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            file: json!({ "version": 1, "sessions": {} }),
            observed: Observed {
                at: at(1000),
                host: "h".into(),
                socket: "/s".into(),
                server: TmuxServer::Running { since: at(-500) },
                agents: ["claude", "agy", "codex"].map(Into::into).into(),
                ..Observed::default()
            },
            reported: Reported::default(),
            now: at(1000),
        };
        world.add("w-creator-claude", Some(ID));
        world
    }

    fn add(&mut self, name: &str, id: Option<&str>) {
        let number = i64::try_from(self.observed.sessions.len()).unwrap() + 10;
        let agent = name.rsplit('-').next().unwrap();
        let pane = SeenPane {
            id: format!("%{number}"),
            pid: number,
            cmd: agent.into(),
            cwd: "/w".into(),
            agent: InPane::Runs(agent.into()),
            conversation: id.map(Into::into),
            ..SeenPane::default()
        };
        let entry = Entry {
            agent: agent.into(),
            cwd: Some("/w".into()),
            status: Status::Running,
            created_at: Some(at(0)),
            pane: lives::record(&pane),
            own_id: id.filter(|_| agent == "claude").map(Into::into),
            identities: id.map(|id| (agent.to_owned(), id.to_owned())).into_iter().collect(),
            ..Entry::default()
        };
        self.file["sessions"][name] = entry.to_value();
        let seen = SeenSession { ours: false, since: None, panes: vec![pane] };
        self.observed.sessions.insert(name.into(), seen);
        self.observed.folders.insert("/w".into(), Some("/w".into()));
        if let Some(id) = id {
            self.find(id);
        }
    }

    fn find(&mut self, id: &str) {
        self.observed.artifacts.insert(id.into(), Artifact::Found(format!("/disk/{id}")));
    }

    fn set(&mut self, field: &str, value: impl Into<Value>) {
        apply(&mut self.file, &[Edit::field("w-creator-claude", field, value)]);
    }

    fn pane(&mut self) -> &mut SeenPane {
        &mut self.observed.sessions.get_mut("w-creator-claude").unwrap().panes[0]
    }

    fn without_id(&mut self) {
        self.set("claude_session_id_own", Value::Null);
        self.set("agent_identities.claude.session_id", Value::Null);
    }

    fn look(&self) -> Outcome {
        let registry = Registry::from_value(&self.file).unwrap();
        reconcile(&registry, &self.observed, &self.reported, self.now)
    }

    /// A pass with all its consequences, 30 s after the last one.
    fn pass(&mut self) -> Vec<&'static str> {
        let outcome = self.look();
        apply(&mut self.file, &outcome.edits);
        self.reported.drifts.retain(|key| !outcome.over.contains(key));
        self.reported.drifts.extend(outcome.drifts.iter().map(|drift| drift.key.clone()));
        self.now += SignedDuration::from_secs(30);
        self.observed.at = self.now;
        outcome.drifts.iter().map(|drift| drift.kind.class()).collect()
    }

    fn entry(&self) -> &Value {
        &self.file["sessions"]["w-creator-claude"]
    }
}

type Case = (&'static str, fn(&mut World), &'static [&'static str]);

/// One change to the world without drift each, and the classes that are reported.
const CASES: [Case; 25] = [
    ("nothing differs", |_| {}, &[]),
    ("session gone", |w| w.observed.sessions.clear(), &["A"]),
    ("pane dead", |w| w.pane().dead = true, &["A"]),
    (
        "terminated and gone",
        |w| {
            w.set("status", "terminated");
            w.observed.sessions.clear();
        },
        &[],
    ),
    ("terminated and alive", |w| w.set("status", "terminated"), &["I"]),
    (
        "a word of the person's own",
        |w| {
            w.set("status", "parked");
            w.observed.sessions.clear();
        },
        &[],
    ),
    (
        "tmux does not answer",
        |w| {
            w.observed.sessions.clear();
            w.observed.server = TmuxServer::Unreachable;
        },
        &[],
    ),
    (
        "another host's",
        |w| {
            w.set("host", "other");
            w.observed.sessions.clear();
        },
        &[],
    ),
    (
        "another server's",
        |w| {
            w.set("socket", "/other");
            w.observed.sessions.clear();
        },
        &[],
    ),
    ("not in the registry", |w| w.file["sessions"] = json!({}), &["B"]),
    (
        "not in the registry, by another name",
        |w| {
            let seen = w.observed.sessions.remove("w-creator-claude").unwrap();
            w.file["sessions"] = Value::Null;
            w.observed.sessions.insert("mine".into(), seen);
        },
        &[],
    ),
    (
        "not in the registry, but ours",
        |w| {
            let mut seen = w.observed.sessions.remove("w-creator-claude").unwrap();
            w.file["sessions"] = Value::Null;
            seen.ours = true;
            w.observed.sessions.insert("mine".into(), seen);
        },
        &["B"],
    ),
    (
        "renamed",
        |w| {
            let seen = w.observed.sessions.remove("w-creator-claude").unwrap();
            w.observed.sessions.insert("v-creator-claude".into(), seen);
        },
        &["J"],
    ),
    ("id said, and on disk", World::without_id, &["C"]),
    (
        "id said, and nothing on disk yet",
        |w| {
            w.without_id();
            w.observed.artifacts.clear();
        },
        &[],
    ),
    (
        "id found on disk",
        |w| {
            w.without_id();
            w.pane().conversation = None;
            w.observed.conversations.push(conversation(OTHER_ID, 7));
        },
        &["C"],
    ),
    (
        "a conversation from before",
        |w| {
            w.without_id();
            w.pane().conversation = None;
            w.observed.conversations.push(conversation(OTHER_ID, -7));
        },
        &[],
    ),
    (
        "id remembered, session gone",
        |w| {
            w.without_id();
            w.observed.sessions.clear();
            w.observed.remembered.insert("w-creator-claude".into(), ID.into());
        },
        &["A", "C"],
    ),
    (
        "artifact gone",
        |w| {
            w.observed.artifacts.insert(ID.into(), Artifact::Missing("/disk/x".into()));
        },
        &["D"],
    ),
    ("artifact not looked for", |w| w.observed.artifacts.clear(), &[]),
    ("agent gone", |w| w.pane().agent = InPane::NoAgent, &["E"]),
    ("agent unknown", |w| w.pane().agent = InPane::Unknown, &[]),
    ("elsewhere", |w| w.pane().cwd = "/other".into(), &["H"]),
    ("in a folder below", |w| w.pane().cwd = "/w/src".into(), &[]),
    (
        "in another conversation",
        |w| {
            w.pane().conversation = Some(OTHER_ID.into());
            w.find(OTHER_ID);
        },
        &["K"],
    ),
];

#[test]
fn every_class_is_reported_once() {
    for (case, change, want) in CASES {
        let mut world = World::new();
        change(&mut world);
        assert_eq!(world.pass(), want, "{case}");
        let again = world.pass();
        assert!(!again.iter().any(|class| want.contains(class)), "{case}: reported once");
        assert!(world.look().edits.is_empty(), "{case}: settled");
    }
}

fn conversation(id: &str, seconds: i64) -> Conversation {
    Conversation {
        agent: "claude".into(),
        id: id.into(),
        folder: "/w".into(),
        modified: at(seconds),
    }
}

#[test]
fn a_dead_session_is_marked_and_reported() {
    let mut world = World::new();
    world.observed.sessions.clear();
    let outcome = world.look();
    assert_eq!(
        outcome.drifts[0].message,
        "w-creator-claude: the tmux session is gone (was process 10, claude); marked terminated"
    );
    world.pass();
    assert_eq!(world.entry()["status"], "terminated");
    assert_eq!(world.entry()["terminated_at"], at(1000).to_string());
    assert_eq!(world.entry()["termination_mode"], "auto-detected");
    assert_eq!(world.entry()["claude_session_id_own"], ID, "kept for a resume");
}

#[test]
fn an_unknown_session_is_registered_completely() {
    let mut world = World::new();
    world.file = Value::Null;
    assert_eq!(world.pass(), ["B"]);
    let entry = world.entry().clone();
    let read = Registry::from_value(&world.file).unwrap().sessions["w-creator-claude"].clone();
    assert_eq!(read.to_value(), entry);
    assert_eq!((&entry["workspace"], &entry["agent"]), (&json!("w"), &json!("claude")));
    assert_eq!(entry["last_visible_status"], "auto-registered");
    assert_eq!(world.pass(), ["C"], "its id follows once it is in the registry");
}

#[test]
fn a_drift_that_comes_back_is_reported_again() {
    let mut world = World::new();
    world.pane().agent = InPane::NoAgent;
    assert_eq!(world.pass(), ["E"]);
    world.pane().agent = InPane::Runs("claude".into());
    assert_eq!(world.pass(), [""; 0]);
    world.pane().agent = InPane::NoAgent;
    assert_eq!(world.pass(), ["E"]);
    let server = std::mem::take(&mut world.observed.server);
    assert_eq!(world.pass(), [""; 0]);
    world.observed.server = server;
    assert_eq!(world.pass(), [""; 0], "not to have been seen is not to have gone away");
}

#[test]
fn a_second_death_is_reported() {
    let mut world = World::new();
    let alive = std::mem::take(&mut world.observed.sessions);
    assert_eq!(world.pass(), ["A"]);
    world.observed.sessions = alive;
    world.set("status", "running");
    world.set("resumed_at", at(1010).to_string());
    world.observed.sessions.clear();
    assert_eq!(world.pass(), ["A"], "without a look in between");
}

#[test]
fn a_recent_change_by_a_person_is_not_undone() {
    let touched = |world: &mut World, ago: i64| {
        world
            .reported
            .touched
            .insert("w-creator-claude".into(), world.now - SignedDuration::from_secs(ago));
    };
    let mut world = World::new();
    world.observed.sessions.clear();
    touched(&mut world, 4);
    assert_eq!(world.look().edits, []);
    touched(&mut world, 5);
    assert_ne!(world.look().edits, []);

    let mut world = World::new();
    world.set("status", "terminated");
    world.set("terminated_at", world.now.to_string());
    assert_eq!(world.look().drifts, [], "by another tool, seen in the file");

    let mut world = World::new();
    world.file = Value::Null;
    touched(&mut world, 1);
    assert_eq!(world.look().edits, [], "being created");

    let mut world = World::new();
    world.observed.sessions.clear();
    touched(&mut world, 60);
    world.observed.at = world.now - SignedDuration::from_secs(90);
    assert_eq!(world.look().edits, [], "the look was older than the action");

    let mut world = World::new();
    world.observed.sessions.clear();
    touched(&mut world, -20);
    assert!(world.look().edits.is_empty() && world.look().held, "a command is still at it");

    let mut world = World::new();
    world.observed.sessions.clear();
    touched(&mut world, -86_400);
    assert_ne!(world.look().edits, [], "a clock that was set back holds nothing up");
}

#[test]
fn the_loss_of_all_sessions_is_one_drift() {
    let many = || {
        let mut world = World::new();
        for n in 0..49 {
            world.add(&format!("w{n}-creator-codex"), None);
        }
        world
    };
    let mut world = many();
    world.observed.sessions.clear();
    world.observed.server = TmuxServer::None;
    world.observed.boot = Some(at(500));
    let outcome = world.look();
    assert_eq!(outcome.drifts.len(), 1);
    let drift = &outcome.drifts[0];
    assert_eq!((drift.kind, drift.sessions.len(), drift.session()), (Kind::AllGone, 50, None));
    assert!(
        drift.message.contains("all 50 sessions") && drift.message.contains("booted"),
        "{}",
        drift.message
    );
    assert!(drift.hint.as_ref().unwrap().contains("resume --all"));
    assert_eq!(world.pass(), ["F"]);
    assert_eq!(world.entry()["status"], "terminated");
    assert_eq!(world.pass(), [""; 0]);

    let mut world = many();
    world.observed.sessions.clear();
    world.observed.server = TmuxServer::Running { since: at(900) };
    assert_eq!(world.pass(), ["F"], "a new server");
    let mut world = many();
    world.observed.sessions.clear();
    assert_eq!(world.pass().len(), 50, "the same server: each died by itself");
    let mut world = many();
    world.observed.sessions.retain(|name, _| name == "w-creator-claude");
    assert_eq!(world.pass().len(), 49);
}

#[test]
fn no_conversation_is_assigned_twice() {
    let mut world = World::new();
    world.without_id();
    world.pane().conversation = None;
    world.add("v-creator-claude", None);
    world.observed.conversations.push(conversation(OTHER_ID, 7));
    assert_eq!(world.pass(), [""; 0], "it could be of either");
    world.observed.conversations.push(conversation(ID, 8));
    assert_eq!(world.pass(), [""; 0]);
    world.pane().conversation = Some(ID.into());
    assert_eq!(world.pass(), ["C"]);
    assert_eq!(world.pass(), ["C"], "the other one is what is left");
    assert_eq!(world.file["sessions"]["v-creator-claude"]["claude_session_id_own"], OTHER_ID);

    let mut world = World::new();
    world.add("v-creator-claude", None);
    world.observed.sessions.get_mut("v-creator-claude").unwrap().panes[0].conversation =
        Some(ID.into());
    assert_eq!(world.pass(), ["G"], "said by one, claimed by another");
    assert_eq!(world.file["sessions"]["v-creator-claude"]["claude_session_id_own"], Value::Null);

    let mut world = World::new();
    world.add("v-creator-claude", Some(ID));
    let drift = world.look().drifts.remove(0);
    assert_eq!((drift.kind, drift.sessions.len()), (Kind::IdShared, 2));
}

#[test]
fn conversations_of_other_agents_are_found() {
    for agent in ["agy", "codex"] {
        let mut world = World::new();
        let name = format!("w-creator-{agent}");
        world.add(&name, None);
        let mut found = conversation(OTHER_ID, 7);
        found.agent = agent.into();
        world.observed.conversations.push(found);
        assert_eq!(world.pass(), ["C"]);
        assert_eq!(
            world.file["sessions"][&name]["agent_identities"][agent]["session_id"],
            OTHER_ID
        );
        assert_eq!(world.file["sessions"][&name]["claude_session_id_own"], Value::Null);
    }
}

#[test]
fn a_changed_pane_is_recorded() {
    let mut world = World::new();
    world.set("pane", json!({ "id": "%1", "pid": 1, "mine": "kept" }));
    assert_eq!(world.pass(), [""; 0]);
    assert_eq!(
        world.entry()["pane"],
        json!({ "id": "%10", "pid": 10, "mine": "kept", "cmd": "claude" })
    );
    assert_eq!(world.look().edits, []);
}

#[test]
fn files_that_are_not_a_registry_are_refused() {
    let read = |value: Value| Registry::from_value(&value).map(|registry| registry.sessions.len());
    assert_eq!(read(Value::Null), Ok(0));
    assert_eq!(read(json!({ "sessions": null, "mine": 1 })), Ok(0));
    assert_eq!(read(json!({ "version": "1", "sessions": { "a": null } })), Ok(1));
    assert_eq!(read(json!([1])), Err(Problem::NoMap));
    assert_eq!(read(json!({ "sessions": [] })), Err(Problem::NoSessions));
    assert_eq!(read(json!({ "sessions": { "a": 7 } })), Err(Problem::NoEntry { name: "a".into() }));
    assert_eq!(read(json!({ "version": 2 })), Err(Problem::Version { found: "2".into() }));
}
