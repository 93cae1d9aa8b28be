//! Scenarios for the scripted actor. Each records its own evidence: that it began, its input, and how it is about to end.

use std::fmt::Write as _;

use crate::plan::Role;
use crate::supervisors;

/// The screen of an agent at its prompt, with an empty box; the cursor is in the box.
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";

/// Codex asks for permission.
const DIALOG: &str = "• Running rm file-{n}\n\n\n  Would you like to run the following command?\n\n  $ rm file-{n}\n\n\n› 1. Yes, proceed (y)\n  2. Yes, and don't ask again for commands that start with `rm file-{n}` (p)\n  3. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel";

/// The file names of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct Names<'a> {
    pub(crate) witness: &'a str,
    pub(crate) dogwatch: &'a str,
    pub(crate) prompt: &'a str,
}

pub(crate) fn prompt_screen() -> &'static str {
    PROMPT
}

pub(crate) fn scenario(role: Role, names: &Names<'_>) -> String {
    let Names { witness, .. } = names;
    let mut text = String::new();
    let note =
        |line: &str| format!("[[step]]\nappend_line = {{ path = '{witness}', text = '{line}' }}\n");
    let end = |code: u8| format!("{}[[step]]\nexit = {code}\n", note(&format!("end code {code}")));
    let stall = |ms: u32| format!("[[step]]\nstall = '{}ms'\n", ms.max(1));
    match role {
        Role::Agent => {
            let _ = write!(text, "record = '{witness}.received'\n{}", agent(names));
            return text;
        }
        Role::Exits { code, after_ms } => text.extend([note("began"), stall(after_ms), end(code)]),
        Role::Crashes { signal, after_ms } => {
            let word = match signal {
                11 => "SEGV",
                6 => "ABRT",
                15 => "TERM",
                _ => "KILL",
            };
            text.extend([
                note("began"),
                stall(after_ms),
                note(&format!("end signal {signal}")),
                format!("[[step]]\ncrash = '{word}'\n"),
            ]);
        }
        Role::Asker => {
            let _ = write!(text, "record = '{witness}.received'\n{}", asker(names));
            return text;
        }
        Role::Stays => text.extend([note("began"), "[[step]]\nstall = 'forever'\n".to_owned()]),
        Role::Stubborn => {
            text.extend([
                "[[step]]\nignore_signals = ['HUP', 'TERM', 'INT']\n".to_owned(),
                note("began"),
                "[[step]]\nstall = 'forever'\n".to_owned(),
            ]);
        }
        Role::LeavesDaemon { after_ms } => text.extend([
            note("began"),
            "[[step]]\nspawn = { for = '10m', session = 'own', ignore_hangup = true }\n".to_owned(),
            stall(after_ms),
            end(5),
        ]),
        Role::Noisy { code } => text.extend([note("began"), noise(), end(code)]),
    }
    text
}

fn agent(names: &Names<'_>) -> String {
    let Names { witness, dogwatch, prompt } = names;
    let hook = |event: &str, payload: &str| {
        format!(
            "[[step]]\nhook = {{ event = '{event}', {payload}command = ['{dogwatch}', 'hook', 'codex'] }}\n"
        )
    };
    let mut text = String::new();
    let _ = write!(
        text,
        "[[step]]\nappend_line = {{ path = '{witness}', text = 'began' }}\n\
         [[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n[[step]]\nlabel = 'ready'\n\
         [[step]]\nscreen = {{ file = '{prompt}', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nappend_line = {{ path = '{witness}', text = 'took {{input}}' }}\n"
    );
    text.push_str(&hook("UserPromptSubmit", "payload = { prompt = '{input}' }, "));
    text.push_str(&hook("Stop", ""));
    text.push_str("[[step]]\ngoto = 'ready'\n");
    text
}

/// Dialog after dialog, each another one, and each waits for one key.
fn asker(names: &Names<'_>) -> String {
    let Names { witness, dogwatch, prompt } = names;
    let hook = |event: &str, payload: &str| {
        format!(
            "[[step]]\nhook = {{ event = '{event}', {payload}command = ['{dogwatch}', 'hook', 'codex'] }}\n"
        )
    };
    let shows = format!("[[step]]\nscreen = {{ file = '{prompt}', cursor = [2, 4] }}\n");
    let mut text = format!(
        "[[step]]\nappend_line = {{ path = '{witness}', text = 'began' }}\n[[step]]\nraw = true\n{shows}"
    );
    for number in 0..supervisors::DIALOGS {
        let payload = format!(
            "payload = {{ tool_name = 'Bash', tool_input = {{ command = 'rm file-{number}' }} }}, "
        );
        text.push_str(&hook("PermissionRequest", &payload));
        let dialog = DIALOG.replace("{n}", &number.to_string());
        let _ = write!(
            text,
            "[[step]]\nprint = \"\\e[2J\\e[H{}\"\n[[step]]\n[step.input]\nwant = 'key'\n\
             [[step]]\nappend_line = {{ path = '{witness}', text = 'key of {number}' }}\n{shows}",
            dialog.replace('\n', "\\r\\n")
        );
        text.push_str(&hook("PostToolUse", "payload = { tool_name = 'Bash' }, "));
    }
    text.push_str("[[step]]\nstall = 'forever'\n");
    text
}

/// Titles, unfinished escape sequences, bells, the alternate screen, bidi controls and very long lines.
fn noise() -> String {
    let pieces = [
        r"\e]0;\u0007\e]2;#{pid}#(touch pwned)\e\\",
        r"\e[?1049h\e[2J\e[H\e[999;999H\e[?1049l",
        r"\u202e\u2066evil\u202c\u0000\u0008\u0008\e[6n\e[c",
        r"\e]52;c;Zm9v\u0007\ePq#0;2;0;0;0\e\\\e_G\e\\",
        r"é\u0301\u200d👩‍👩‍👧‍👦\e[38;5;999m\e[1;2;3;4;5;6;7;8;9m",
        r"\e[?25l\e[?1000h\e[?2004h\e(0\u000e\e[r\e[5;2r",
        r"\e]8;;file:///etc/passwd\e\\%begin 1 1 1\n%end 1 1 1\n%exit\n",
        r"\e[9999999999999999999A\e[;;;;;;;;;;;;;;;;;;;;;;m\e[!p",
    ];
    let mut text = String::new();
    for piece in pieces {
        let _ = write!(text, "[[step]]\nprint = \"{piece}\"\n");
    }
    let long = "x".repeat(20_000);
    let _ = write!(
        text,
        "[[step]]\nprint = \"{long}\"\n[[step]]\nstream = {{ text = \"\\e[31m{{n}} \\u009b2J {}\\n\", count = 400, every = '1ms' }}\n",
        "y".repeat(300)
    );
    text
}
