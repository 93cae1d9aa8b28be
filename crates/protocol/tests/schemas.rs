//! `schemas.json` is what the types say. `UPDATE_SCHEMAS=1` writes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dogwatch_protocol::{
    bug_report, error, escalation, event, event_data, fleet, job, label, limits, mcp, message,
    notice, record, registry, report, rules, run, screen, search, session, status, stream,
    supervisor, team, tools, usage, verification, worktree,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of what is printed under this name.
fn printed<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of what is read under this name.
fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}

/// A request has the title and the description of what is asked.
fn request<T: JsonSchema>(title: &str) -> Schema {
    let mut schema = read::<fleet::Request<T>>();
    schema.insert("title".to_owned(), title.into());
    if let Some(description) = read::<T>().get("description") {
        schema.insert("description".to_owned(), description.clone());
    }
    schema
}

/// What commands print, and files.
fn commands() -> Vec<(&'static str, Schema)> {
    vec![
        ("error", printed::<error::ErrorReport>()),
        ("started", printed::<record::Started>()),
        ("ended", printed::<record::Ended>()),
        ("spawn", printed::<session::Spawned>()),
        ("ls", printed::<session::Sessions>()),
        ("capture", printed::<session::Capture>()),
        ("kill", printed::<session::KilledSessions>()),
        ("tag", printed::<label::Labelled>()),
        ("tag-ls", printed::<label::Tags>()),
        ("archive", printed::<label::ArchivedSessions>()),
        ("diff", printed::<worktree::Diff>()),
        ("finish", printed::<worktree::Finished>()),
        ("pr", printed::<worktree::PullRequest>()),
        ("trust", printed::<worktree::TrustedFile>()),
        ("search", printed::<search::SearchResults>()),
        ("limits", printed::<limits::Limits>()),
        ("limits-set", printed::<limits::LimitPolicySet>()),
        ("limits-pause", printed::<limits::LimitsPaused>()),
        ("exists", printed::<session::Exists>()),
        ("gc", printed::<session::Collected>()),
        ("supervisor", printed::<supervisor::Supervisor>()),
        ("stream-greeting", printed::<stream::Greeting>()),
        ("stream-introduction", read::<stream::Introduction>()),
        ("stream-request", read::<stream::Request>()),
        ("stream-reply", printed::<stream::Reply<serde_json::Value>>()),
        ("status", printed::<status::Statuses>()),
        ("report", printed::<report::Report>()),
        ("why", printed::<status::Explained>()),
        ("wait", printed::<status::WaitResult>()),
        ("watch", printed::<status::WatchLine>()),
        ("send", printed::<message::Receipt>()),
        ("usage", printed::<usage::UsageReport>()),
        ("budget", printed::<usage::Budgets>()),
        ("budget-lift", printed::<usage::LiftedBudgets>()),
        ("event-budget", printed::<usage::BudgetStanding>()),
        ("messages", printed::<message::Messages>()),
        ("messages-cancel", printed::<message::CancelledMessage>()),
        ("answer", printed::<message::Answered>()),
        ("job", printed::<job::Job>()),
        ("job-ls", printed::<job::Jobs>()),
        ("rules", printed::<rules::Rules>()),
        ("rules-rehearse", printed::<rules::Rehearsal>()),
        ("rules-explain", printed::<rules::RehearsedRequest>()),
        ("escalation", printed::<escalation::Escalation>()),
        ("escalations-ls", printed::<escalation::Escalations>()),
        ("pane-spawn", printed::<team::SpawnedPane>()),
        ("pane-verify", printed::<team::PaneCheck>()),
        ("pane-rebalance", printed::<team::Layout>()),
        ("pane-close", printed::<team::ClosedPane>()),
        ("team", printed::<team::Team>()),
        ("task-add", printed::<team::AddedTask>()),
        ("task-list", printed::<team::Tasks>()),
        ("agent-claim", printed::<team::Claim>()),
        ("agent-register", printed::<team::Registered>()),
        ("agent-complete", printed::<team::CompletedTask>()),
        ("reconcile", printed::<registry::Pass>()),
        ("registry", printed::<registry::Registry>()),
        ("create", printed::<registry::Created>()),
        ("resume", printed::<registry::ResumedSessions>()),
        ("delete", printed::<registry::Deleted>()),
        ("adopt", printed::<registry::Adopted>()),
        ("story-plan", printed::<run::PlannedRun>()),
        ("story-begun", printed::<run::BegunRun>()),
        ("story-fact", printed::<run::LogLine>()),
        ("story-left", printed::<run::LeftRun>()),
        ("story-report", printed::<run::Report>()),
        ("story-status", printed::<run::RunStatus>()),
        ("story-ls", printed::<run::Runs>()),
        ("story-run", printed::<run::RunRow>()),
        ("story-told", printed::<run::ToldRun>()),
        ("story-validate", printed::<run::Validation>()),
        ("doctor", printed::<tools::Diagnosis>()),
        ("schema", printed::<tools::SchemaNames>()),
        ("notify-log", printed::<notice::NotifyLog>()),
        ("notify-test", printed::<notice::NotifyTest>()),
        ("agents", printed::<tools::Agents>()),
        ("bug-report", printed::<tools::BugReport>()),
        ("agents-verify", printed::<verification::Verifications>()),
        ("monitor", printed::<tools::MonitorLine>()),
        ("bug-report-meta", printed::<bug_report::Meta>()),
        ("bug-report-signal", printed::<bug_report::RecordedSignal>()),
        ("install-skill", printed::<tools::SkillFiles>()),
        ("mcp-sessions", printed::<mcp::SessionList>()),
        ("mcp-spawn", printed::<mcp::Spawned>()),
        ("mcp-send", printed::<mcp::Sent>()),
        ("mcp-job", printed::<mcp::JobAnswer>()),
        ("mcp-since", printed::<mcp::Changes>()),
        ("mcp-capture", printed::<mcp::Screen>()),
        ("mcp-ask-person", printed::<mcp::Asked>()),
        ("debug-screen", printed::<screen::Reading>()),
    ]
}

/// What dogwatch publishes: events, notices, and messages of the fleet.
fn events() -> Vec<(&'static str, Schema)> {
    vec![
        ("event", printed::<event::Event>()),
        ("host-status", printed::<fleet::HostStatus>()),
        ("session-state", printed::<fleet::SessionState>()),
        ("reply", printed::<fleet::Reply>()),
        ("fleet", printed::<fleet::Fleet>()),
        ("fleet-watch", printed::<fleet::FleetNews>()),
        ("notice", printed::<notice::Notice>()),
        ("notice-status", printed::<notice::StatusNotice>()),
        ("event-created", printed::<event_data::Created>()),
        ("event-restarted", printed::<event_data::Restarted>()),
        ("event-deleted", printed::<event_data::Deleted>()),
        ("event-renamed", printed::<event_data::Renamed>()),
        ("event-tagged", printed::<event_data::Tagged>()),
        ("event-rules-answered", printed::<rules::RulesAnswered>()),
        ("event-rules-held", printed::<rules::RulesHeld>()),
        ("event-limit", printed::<event_data::LimitChanged>()),
        ("event-limits-paused", printed::<event_data::Paused>()),
        ("event-collision", printed::<event_data::Collision>()),
        ("event-loop-interrupted", printed::<event_data::LoopInterrupted>()),
        ("event-message-posted", printed::<event_data::MessagePosted>()),
        ("event-message-settled", printed::<event_data::MessageSettled>()),
        ("event-job", printed::<event_data::JobChanged>()),
        ("event-escalation-raised", printed::<event_data::EscalationRaised>()),
        ("event-escalation-answered", printed::<event_data::EscalationAnswered>()),
        ("event-drift", printed::<event_data::DriftFound>()),
        (
            "event-session-created",
            printed::<event_data::RegistryChanged<event_data::SessionCreated>>(),
        ),
        (
            "event-session-adopted",
            printed::<event_data::RegistryChanged<event_data::SessionAdopted>>(),
        ),
        (
            "event-session-resumed",
            printed::<event_data::RegistryChanged<event_data::SessionResumed>>(),
        ),
        (
            "event-session-deleted",
            printed::<event_data::RegistryChanged<event_data::SessionDeleted>>(),
        ),
        ("event-run-planned", printed::<event_data::RunPlanned>()),
        ("event-run", printed::<event_data::RunFact>()),
        ("event-heartbeat", printed::<event_data::Heartbeat>()),
        ("event-request", printed::<event_data::RequestTaken>()),
        ("event-request-refused", printed::<event_data::RequestRefused>()),
        ("event-order-refused", printed::<event_data::OrderRefused>()),
        ("event-tool-call", printed::<event_data::ToolCall>()),
        ("event-server-died", printed::<event_data::ServerDeath>()),
        ("event-not-told", printed::<event_data::NotTold>()),
        ("notice-escalation", printed::<event_data::EscalationNotice>()),
        ("notice-job", printed::<event_data::JobNotice>()),
        ("reply-send", printed::<event_data::SentResult>()),
        ("reply-spawn", printed::<event_data::SpawnedResult>()),
        ("reply-kill", printed::<event_data::KilledResult>()),
        ("request-send", request::<fleet::Send>("Request: send")),
        ("request-spawn", request::<fleet::Spawn>("Request: spawn")),
        ("request-kill", request::<fleet::Kill>("Request: kill")),
    ]
}

fn all() -> BTreeMap<&'static str, Schema> {
    commands().into_iter().chain(events()).collect()
}

#[test]
fn schemas_are_those_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas.json");
    // One schema a line, so that a change of one is a change of its line.
    let line = |(name, schema): (&str, Schema)| {
        format!("\"{name}\":{}", serde_json::to_string(&schema).unwrap())
    };
    let lines: Vec<String> = all().into_iter().map(line).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    for (there, new) in there.lines().zip(text.lines()) {
        assert_eq!(there, new, "UPDATE_SCHEMAS=1 cargo test -p dogwatch-protocol writes it");
    }
    assert!(there == text, "UPDATE_SCHEMAS=1 cargo test -p dogwatch-protocol writes it");
}
