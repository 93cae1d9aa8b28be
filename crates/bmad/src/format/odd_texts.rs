//! Files come from agents and people: no text may cause a panic.

use proptest::prelude::*;

use super::keys::KnownEpics;
use super::{bmm_config, epic_file, front_matter, junit, keys, left_out, sections, sprint};

/// Texts with the syntax of the readers.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "---\n", "### Story 1.2: ", "## Epic 1: ", "### File List\n", "- ", "Dependencies**: ", "dependencies:",
            "1.1", "1-2-a", "epic-1", "plan-7-8-x", ": ", "\n", " ", "\t", "{", "}", "[", "]", "\"", "'", "#", "```",
            "<testsuite tests='1'", "/>", "<!--", "-->", "<", ">", "=", "status: done", "\r\n", "é", "日本", "`",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_text_is_read(text in text(), other in text()) {
        let known = KnownEpics::new(vec![text.clone()], [other.as_str(), text.as_str()]);
        let _ = keys::read(&text, &known);
        let sprint = sprint::Sprint::read(&text);
        let _ = sprint.find(&other, &known);
        let _ = sprint.stories_of("1", &known);
        let (front, _) = front_matter::split(&text);
        let front = front.unwrap_or(&text);
        let _ = (front_matter::text(front, "status"), front_matter::list(front, "status"));
        let _ = front_matter::tree(front, "status");
        let _ = bmm_config::artifacts(&text);
        let _ = junit::read(&text);
        let _ = (left_out::by_name(&text), left_out::by_content(&text, &other));
        let file = epic_file::EpicFile::read(&text, &known);
        for story in &file.stories {
            let _ = story.parts();
            let _ = file.dependents(&story.id);
        }
    }

    #[test]
    fn a_section_written_twice_is_the_same(text in text(), item in "[a-z/]{1,8}") {
        let items = [item];
        let once = sections::with_section(&text, "File List", &items);
        prop_assert_eq!(sections::with_section(&once, "File List", &items), once.clone());
    }
}
