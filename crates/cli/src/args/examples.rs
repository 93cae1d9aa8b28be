//! Every example in the help can be pasted: what explains it is a shell's comment, and the rest is understood.

use clap::CommandFactory as _;

use super::Args;

/// The words of one call in a shell, up to a comment, a redirection or the end of the pipeline's part.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '<' | '>' | '|' | ')' | ';' | '&') => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn examples(command: &mut clap::Command, found: &mut Vec<String>) {
    let help = command.render_long_help().to_string();
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let shown = lines.take_while(|line| line.starts_with("  "));
    // Alone, or behind a pipe.
    let call = |line: &str| line.trim_start().rsplit(" | ").next().map(str::to_owned);
    found.extend(shown.filter_map(call).filter(|line| line.starts_with("dogwatch ")));
    for part in command.get_subcommands_mut() {
        examples(part, found);
    }
}

#[test]
fn examples_can_be_pasted() {
    let mut found = Vec::new();
    examples(&mut Args::command(), &mut found);
    assert!(found.len() > 100, "{found:#?}");
    for line in found {
        let words = words(&line);
        let read = Args::command_for(&words.iter().map(Into::into).collect::<Vec<_>>())
            .try_get_matches_from(&words);
        assert!(read.is_ok(), "{line}\n{words:?}\n{}", read.unwrap_err());
        let loose = line.split(" #").next().unwrap_or_default();
        assert!(!loose.trim().contains("   "), "a comment without #: {line}");
    }
}

#[test]
fn a_line_as_a_shell_reads_it() {
    assert_eq!(words("dogwatch a 'b c' \"\" d#e  # f"), ["dogwatch", "a", "b c", "", "d#e"]);
    assert_eq!(words("dogwatch x - < y"), ["dogwatch", "x", "-"]);
}
