//! For any file content nothing here panics, and what is written is read back.

use proptest::prelude::*;

use super::fields::{Fields, set, written};
use super::schema::{Schema, find_fitting};
use super::{marker, state_document};

/// Texts with the syntax of these files.
fn any_file() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("---\n".to_owned()),
        Just("key: \"".to_owned()),
        Just("\n## Action Log\n".to_owned()),
        Just("- **[2026-01-01T00:00:00Z]** ".to_owned()),
        Just("| Story | Status |\n".to_owned()),
        Just("<!--".to_owned()),
        Just("{\"a\":".to_owned()),
        Just("}\n```\n".to_owned()),
        Just("[features]\n".to_owned()),
        "\\PC{0,12}",
        "(?s).{0,6}",
    ];
    proptest::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in any_file()) {
        let fields = Fields::read(&text);
        let _ = state_document::stories_behind(&fields);
        let _ = (state_document::issues(&text), state_document::metrics(&text));
        let _ = state_document::last_action(&text);
        let schema = Schema::read(include_str!("../../data/parse/dev.json")).unwrap();
        let _ = find_fitting(&text, &schema);
        let _ = (Schema::read(&text), marker::Marker::read(&text));
    }

    #[test]
    fn a_value_is_read_back_and_changes_nothing_else(value in "\\PC{0,24}", text in "\\PC{0,24}") {
        prop_assume!(!(value.starts_with('[') && value.ends_with(']')));
        let before = format!("---\nkey: old\nother: {}\n---\nkey: {text}\n", written(&text));
        let after = set(&before, "key", &written(&value)).unwrap();
        let (was, is) = (Fields::read(&before), Fields::read(&after));
        let quoted = (value.starts_with('"') && value.ends_with('"'))
            || (value.starts_with('\'') && value.ends_with('\''));
        if !quoted {
            prop_assert_eq!(is.text("key"), &value);
        }
        prop_assert_eq!(was.get("other"), is.get("other"));
        let end = format!("---\nkey: {text}\n");
        prop_assert!(after.ends_with(&end));
    }
}
