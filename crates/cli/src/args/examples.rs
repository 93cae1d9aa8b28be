//! Every command has examples, and every example can be pasted into a shell.

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

/// Fails unless the line is a call of dogwatch that would be understood.
pub(crate) fn assert_can_be_pasted(line: &str) {
    let words = words(line);
    let read = Args::command_for(&words.iter().map(Into::into).collect::<Vec<_>>())
        .try_get_matches_from(&words);
    assert!(read.is_ok(), "{line}\n{words:?}\n{}", read.unwrap_err());
}

#[test]
fn examples_can_be_pasted() {
    let mut found = Vec::new();
    examples(&mut Args::command(), &mut found);
    assert!(found.len() > 100, "{found:#?}");
    for line in found {
        assert_can_be_pasted(&line);
        let loose = line.split(" #").next().unwrap_or_default();
        assert!(!loose.trim().contains("   "), "a comment without #: {line}");
    }
}

fn without_examples(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let listed = |part: &&clap::Command| !part.is_hide_set() && part.get_name() != "help";
    for part in command.get_subcommands().filter(listed) {
        let path = format!("{path} {}", part.get_name());
        let after = part.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !after.contains("Examples:") {
            found.push(path.clone());
        }
        without_examples(part, &path, found);
    }
}

#[test]
fn every_command_has_examples() {
    let mut command = Args::command();
    command.build();
    let mut found = Vec::new();
    without_examples(&command, "dogwatch", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn helps(command: &clap::Command, found: &mut Vec<String>) {
    let options = command.get_arguments().filter_map(clap::Arg::get_help);
    found.extend(command.get_about().into_iter().chain(options).map(ToString::to_string));
    command.get_subcommands().for_each(|part| helps(part, found));
}

#[test]
fn short_help_texts_have_no_full_stop() {
    let mut command = Args::command();
    command.build();
    let mut found = Vec::new();
    helps(&command, &mut found);
    let wrong: Vec<_> = found.iter().filter(|text| text.ends_with('.')).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_line_as_a_shell_reads_it() {
    assert_eq!(words("dogwatch a 'b c' \"\" d#e  # f"), ["dogwatch", "a", "b c", "", "d#e"]);
    assert_eq!(words("dogwatch x - < y"), ["dogwatch", "x", "-"]);
}
