use std::collections::HashMap;

use super::*;

/// Codes with the same meaning in several domains.
const SHARED: [&str; 4] = [BAD_ARGUMENT, INTERNAL, "bad_name", "key_reused"];

#[test]
fn codes_are_unique_and_plain() {
    let mut known: HashMap<&str, ErrorKind> = HashMap::new();
    for (kind, code) in Error::CODES.into_iter().flatten() {
        let is_plain = code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(!code.is_empty() && is_plain, "{code:?}");
        if let Some(other) = known.insert(code, *kind) {
            assert!(SHARED.contains(code), "{code} is the code of several errors");
            assert_eq!(*kind, other, "{code} has one kind");
        }
    }
}

#[test]
fn a_machine_without_processes_gives_a_hint() {
    let full = || io::Error::from(io::ErrorKind::WouldBlock);
    let error = Error::io("start a thread")(full());
    assert_eq!((error.code(), error.exit_code()), ("io", 1));
    assert!(error.hint().is_some_and(|hint| hint.contains("ulimit -u")));
    let tmux = dogwatch_tmux::Error::Io { action: "run tmux", source: full().into() };
    let error = Error::from(tmux);
    assert_eq!((error.code(), error.exit_code()), ("tmux", 5));
    assert!(error.hint().is_some_and(|hint| hint.contains("ulimit -u")));
}

#[test]
fn a_fault_of_the_system_is_never_wrong_usage() {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let no_json = || serde_json::from_str::<u32>("x").unwrap_err();
    let cases: [(Error, &str); 6] = [
        (StoryError::Unreadable { path: "/p/x".into(), source: denied() }.into(), "io"),
        (StoryError::NotWritten { path: "/p/x".into(), source: denied() }.into(), "io"),
        (SystemError::NotSerialized { what: "settings", source: no_json() }.into(), INTERNAL),
        (WorkflowError::BadSettings { id: "1".into(), source: no_json() }.into(), INTERNAL),
        (WorkflowError::NoStepOfJob { job: "dev".into() }.into(), INTERNAL),
        (MessageError::SelectionStuck.into(), "not_answered"),
    ];
    for (error, code) in cases {
        assert_eq!((error.code(), error.exit_code()), (code, 1), "{error}");
    }
}

#[test]
fn a_usage_error_keeps_the_front_ends_message() {
    let error = Error::Usage("pass --yes".into());
    assert_eq!((error.code(), error.kind()), (BAD_ARGUMENT, ErrorKind::Usage));
    assert_eq!((error.to_string().as_str(), error.hint()), ("pass --yes", None));
}

#[test]
fn nested_errors_keep_their_codes() {
    let full = || StoreError::Full { path: "/state".into() };
    let error = Error::from(LocalBrokerError::Store(full()));
    assert_eq!((error.code(), error.exit_code()), ("disk_full", 6));
    let error = Error::from(RegistryError::NotUpdated {
        name: "one".into(),
        did: "was started",
        source: Box::new(full().into()),
    });
    assert_eq!((error.code(), error.exit_code()), ("registry_not_updated", 6));
    let hint = error.hint().unwrap_or_default();
    assert!(hint.starts_with("free some space") && hint.contains("reconcile"), "{hint}");
}
