use std::time::Duration;

use dogwatch_core::notice::Notice;

use super::{Sink, command};

/// A notification on the desktop, by the program that this system has for it.
pub(super) struct Desktop;

impl Sink for Desktop {
    fn name(&self) -> String {
        "desktop".to_owned()
    }

    fn tell(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let words = words(notice);
        command::run(&words, &[], b"", limit)
    }
}

#[cfg(not(target_os = "macos"))]
fn words(notice: &Notice) -> Vec<String> {
    // The text is taken for markup, and a `<file>` in it for a tag that is left out; the title is not.
    let text = notice.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words = ["notify-send", "--app-name=dogwatch", "--", &notice.title, &text];
    words.map(ToOwned::to_owned).into()
}

/// The texts are arguments: within the script they could be anything.
#[cfg(target_os = "macos")]
fn words(notice: &Notice) -> Vec<String> {
    let script =
        "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    ["osascript", "-e", script, &notice.title, &notice.text].map(ToOwned::to_owned).into()
}
