//! Files come from agents and people: no text may cause a panic.

use dogwatch_bmad::format::schema::Schema;
use proptest::prelude::*;

use super::{codex_config, hook_settings, reading, selection};

/// Texts with the syntax of these files.
fn any_file() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("key: \"".to_owned()),
        Just("{\"a\":".to_owned()),
        Just("}\n```\n".to_owned()),
        Just("[features]\n".to_owned()),
        Just("hooks = true\n".to_owned()),
        Just("1, 3-5".to_owned()),
        "\\PC{0,12}",
        "(?s).{0,6}",
    ];
    proptest::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in any_file()) {
        let schema = Schema::read(include_str!("../../../bmad/data/parse/dev.json")).unwrap();
        let _ = (reading::tail(&text), reading::final_result(&text, &schema));
        let _ = (codex_config::with_hooks(Some(&text)), codex_config::trusts(&text, "/p"));
        let hook = hook_settings::Hook { command: "x", timeout: 1, status_message: None };
        let _ = hook_settings::with_hook(Some(&text), hook);
        let _ = selection::places(&text, 9);
    }

    #[test]
    fn hooks_that_are_on_stay_on(text in any_file()) {
        if let Ok(codex_config::Change::Made { text, .. }) = codex_config::with_hooks(Some(&text)) {
            prop_assert_eq!(codex_config::with_hooks(Some(&text)), Ok(codex_config::Change::None));
        }
    }
}
