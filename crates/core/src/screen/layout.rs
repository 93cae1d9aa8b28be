//! How the parts of an agent's screen are told apart, as data.

use serde::Deserialize;

use super::pattern::Pattern;
use super::reading::Region;

/// The shape of an agent's screen. All patterns are matched against single lines without trailing
/// blanks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub input: InputShape,
    #[serde(default)]
    pub dialog: DialogShape,
    /// Begins a message of the person in the transcript.
    #[serde(default)]
    pub asked: Option<Pattern>,
    /// Lines above the box that are hints and no activity.
    #[serde(default)]
    pub notice: Option<Pattern>,
    /// The row right above the box is kept for hints: indented text there is one.
    #[serde(default)]
    pub notice_row: bool,
    /// Width of a column at the right side that is not part of the talk; 0: there is none.
    #[serde(default)]
    pub side_column: usize,
    #[serde(default)]
    pub todo: TodoShape,
}

impl Layout {
    pub(super) fn patterns(&mut self) -> impl Iterator<Item = &mut Pattern> {
        let Self { input, dialog, asked, notice, notice_row: _, side_column: _, todo } = self;
        let InputShape {
            prompt,
            body,
            edge,
            top,
            bottom,
            lid,
            footer,
            caption: _,
            placeholder,
            pasted,
            popup,
        } = input;
        let of_input = [edge, top, bottom, lid, footer, placeholder, pasted, popup];
        let DialogShape { cursor, option, buttons, hint, top, body: inside, never, frame: _ } =
            dialog;
        let of_dialog = [cursor, option, buttons, hint, top, inside, never];
        let TodoShape { region: _, done, doing, open } = todo;
        let others = [asked, notice, done, doing, open].into_iter();
        others.chain(of_input).chain(of_dialog).flatten().chain([prompt, body])
    }
}

/// The input box: a line with a prompt sign in some frame.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputShape {
    /// The first line; what it matches is not part of the draft.
    pub prompt: Pattern,
    /// Further lines; what it matches is not part of the draft.
    pub body: Pattern,
    /// Frame at the right side of a line.
    #[serde(default)]
    pub edge: Option<Pattern>,
    /// Full-width line above; none: the box has no upper edge.
    #[serde(default)]
    pub top: Option<Pattern>,
    /// Full-width line below; none: the box ends with the last body line above the footer.
    #[serde(default)]
    pub bottom: Option<Pattern>,
    /// Full-width line a little above the upper edge that belongs to the box as well; what has the
    /// same frame without it is not the box.
    #[serde(default)]
    pub lid: Option<Pattern>,
    /// Must match a line below a box that has no lower edge.
    #[serde(default)]
    pub footer: Option<Pattern>,
    /// The last line in the frame is a caption, not text.
    #[serde(default)]
    pub caption: bool,
    /// Texts shown in an empty box; only needed where a capture has no attributes.
    #[serde(default)]
    pub placeholder: Option<Pattern>,
    /// What stands in the box for a long text that was pasted.
    #[serde(default)]
    pub pasted: Option<Pattern>,
    /// Lines of a list of completions right above the box, in the same frame.
    #[serde(default)]
    pub popup: Option<Pattern>,
}

/// A dialog: options of which one is marked, or a line that says which key does what.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogShape {
    /// The marked option; the group `option` is its text.
    #[serde(default)]
    pub cursor: Option<Pattern>,
    /// A numbered option; the group `option` is its text.
    #[serde(default)]
    pub option: Option<Pattern>,
    /// A line of options beside each other, of which one has another background; the group `buttons` is all of them.
    #[serde(default)]
    pub buttons: Option<Pattern>,
    /// The line of keys, among the last lines.
    #[serde(default)]
    pub hint: Option<Pattern>,
    /// Full-width line above a dialog.
    #[serde(default)]
    pub top: Option<Pattern>,
    /// Where there is no such line: what all lines of a dialog look like.
    #[serde(default)]
    pub body: Option<Pattern>,
    /// Lines of a transcript: no dialog has one.
    #[serde(default)]
    pub never: Option<Pattern>,
    /// Frame signs at the beginning and end of a dialog's lines; cut off.
    #[serde(default)]
    pub frame: Vec<char>,
}

/// How entries of a todo list look, and where to count them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TodoShape {
    pub region: Region,
    pub done: Option<Pattern>,
    pub doing: Option<Pattern>,
    pub open: Option<Pattern>,
}

impl Default for TodoShape {
    fn default() -> Self {
        Self { region: Region::Activity, done: None, doing: None, open: None }
    }
}

/// Prompts of shells.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellShape {
    /// On the last line.
    pub prompt: Pattern,
    /// Anywhere in the picture of an agent: must be unmistakable.
    pub over: Pattern,
}
