//! Quotes a command as one line of tmux's command language.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::{Command, Error};

/// The line for one command, with its newline.
pub(crate) fn line(command: &Command) -> Result<Vec<u8>, Error> {
    let refuse = |reason| Err(Error::Unsendable { command: command.to_string(), reason });
    if command.stdin_bytes().is_some() {
        // tmux would read it from the stream that carries the commands.
        return refuse("it reads from stdin");
    }
    if command.words().any(|word| word.as_bytes().contains(&0)) {
        return refuse("it contains a NUL byte");
    }
    let mut line = Vec::new();
    push_command(&mut line, command);
    line.push(b'\n');
    Ok(line)
}

/// Several commands as one text, for a command that takes commands. A NUL byte stays: no process can be given one, and
/// [`line`] refuses it.
pub(crate) fn block(commands: &[Command]) -> OsString {
    let mut block = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        if at > 0 {
            block.extend_from_slice(b" ; ");
        }
        push_command(&mut block, command);
    }
    OsString::from_vec(block)
}

fn push_command(line: &mut Vec<u8>, command: &Command) {
    for (at, word) in command.words().enumerate() {
        if at > 0 {
            line.push(b' ');
        }
        push_word(line, word);
    }
}

/// Double quotes keep everything except backslash, quote, `$` (environment) and `~` (home); control
/// bytes, above all newlines, become octal escapes, and so does 0xff, which tmux 3.3a takes for the
/// end of its input.
fn push_word(line: &mut Vec<u8>, word: &OsStr) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !word.is_empty() && word.as_bytes().iter().all(plain) {
        line.extend_from_slice(word.as_bytes());
        return;
    }
    line.push(b'"');
    for &byte in word.as_bytes() {
        match byte {
            b'\\' | b'"' | b'$' | b'~' => line.extend([b'\\', byte]),
            0..0x20 | 0x7f | 0xff => line.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            _ => line.push(byte),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PaneId;

    fn text(command: Command) -> String {
        String::from_utf8(line(&command).unwrap()).unwrap()
    }

    #[test]
    fn words_are_quoted() {
        let print = |text: &str| Command::new("display-message").flag('p').arg(text);
        for (command, expected) in [
            (Command::new("list-sessions"), "list-sessions\n"),
            (Command::new("kill-pane").target(PaneId(3)), "kill-pane -t \"%3\"\n"),
            (print(""), "display-message -p -- \"\"\n"),
            (print("a b"), "display-message -p -- \"a b\"\n"),
            (print("; kill-server"), "display-message -p -- \"; kill-server\"\n"),
            (print("a\nb\x7f"), "display-message -p -- \"a\\012b\\177\"\n"),
            (print("$HOME ~ \"\\"), "display-message -p -- \"\\$HOME \\~ \\\"\\\\\"\n"),
            (print("#{pid} ✳"), "display-message -p -- \"#{pid} ✳\"\n"),
        ] {
            assert_eq!(text(command), expected);
        }
    }

    #[test]
    fn commands_for_a_command() {
        let keys = |text: &str| Command::new("display-message").flag('p').arg(text);
        let block = block(&[keys("a ; b\n"), Command::new("list-sessions")]);
        assert_eq!(block, r#"display-message -p -- "a ; b\012" ; list-sessions"#);
    }

    #[test]
    fn unquotable_commands_are_refused() {
        assert!(line(&Command::new("load-buffer").arg("-").stdin(b"x".to_vec())).is_err());
        assert!(line(&Command::new("display-message").arg("a\0b")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn always_exactly_one_line(words in proptest::collection::vec("\\PC*|[\\x01-\\x7f]*", 0..5)) {
            let line = line(&Command::new("set-buffer").args(words)).unwrap();
            assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
        }
    }
}
