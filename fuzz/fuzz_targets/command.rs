//! Lines of any text, taken apart as a shell would. What is certain stays the same when all of it is written in quotes.

#![no_main]

use dogwatch_core::rules::shell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line = String::from_utf8_lossy(bytes);
    let Ok(commands) = shell::commands(&line) else { return };
    assert!(!commands.is_empty() && commands.iter().all(|words| !words.is_empty()));
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    let again: Vec<String> = commands
        .iter()
        .map(|words| words.iter().map(quoted).collect::<Vec<_>>().join(" "))
        .collect();
    let again = again.join("\n");
    // Quotes make it longer, and a keyword in quotes is refused as well.
    if again.len() < 60_000 {
        assert_eq!(shell::commands(&again).as_ref(), Ok(&commands), "{line:?} {again:?}");
    }
});
