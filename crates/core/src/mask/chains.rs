//! Text that continues in the next row: a key is longer than most rows.
//!
//! Terminals break a word at the last column. Agents lay out their text themselves: within a margin, a frame or beside
//! a panel, with an indent, and some break at a dash (seen: codex 0.166, opencode 1.18). So a row is cut into blocks, and a
//! block is taken to continue in the one below it if it reaches the end of its row, ends in a dash behind which the next
//! word did not fit, or if that word looks like part of a key.

use std::ops::Range;

use super::screen::Cell;

/// Columns that an agent may leave free at the right of a full row: 2 in opencode, 6 beside its panel.
const SLACK: usize = 8;
/// A first word of this length, with letters and digits, is more likely part of a key than of a sentence.
const KEY_LIKE: usize = 8;
/// Rows over which a key may continue.
const LONGEST: usize = 40;
/// Tolerance in the indent of a block below another, if neither is the first of its row.
const INDENT: usize = 4;

/// Text in a row without runs of blanks.
#[derive(Debug, Clone)]
pub(super) struct Block {
    row: usize,
    is_first: bool,
    cells: Range<usize>,
    column: usize,
    /// Columns between its end and the next thing to the right: a frame, another block, the end of the row.
    room: usize,
}

/// Boxes, scroll bars, shades.
fn is_frame(shown: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&shown)
}

pub(super) fn blocks(cells: &[Cell], rows: &[Range<usize>], width: usize) -> Vec<Block> {
    let end = |cell: &Cell| cell.column + cell.width;
    let is_text = |cell: &&Cell| cell.shown != ' ' && !is_frame(cell.shown);
    let widest = cells.iter().filter(is_text).map(end).max().unwrap_or(0).max(width);
    let mut blocks: Vec<Block> = Vec::new();
    for (row, range) in rows.iter().enumerate() {
        let first = blocks.len();
        // Where the text to the right of a block begins.
        let mut open: Option<Range<usize>> = None;
        let mut close = |text: Range<usize>, limit: usize| {
            let column = cells[text.start].column;
            let room = limit.saturating_sub(end(&cells[text.end - 1]));
            let is_first = blocks.len() == first;
            blocks.push(Block { row, is_first, cells: text, column, room });
        };
        for at in range.clone() {
            let cell = &cells[at];
            let far = |text: &Range<usize>| cell.column > end(&cells[text.end - 1]) + 1;
            if cell.shown == ' ' {
                continue;
            }
            if let Some(text) = open.take_if(|text| is_frame(cell.shown) || far(text)) {
                close(text, cell.column);
            }
            if !is_frame(cell.shown) {
                open = Some(open.map_or(at, |text| text.start)..at + 1);
            }
        }
        if let Some(text) = open {
            close(text, widest);
        }
    }
    blocks
}

/// For each block, its cells and those of the words that continue below it, while such a word fills its block. Starting at every
/// block, because an apparent continuation may be a beginning, and ending at every block, because it may be an end.
pub(super) fn chains(
    cells: &[Cell],
    blocks: &[Block],
    goes_on: impl Fn(&Block, &Block) -> bool,
) -> Vec<Vec<usize>> {
    let from = |first: usize| {
        let mut chains: Vec<Vec<usize>> = Vec::new();
        let mut chain: Vec<usize> = blocks[first].cells.clone().collect();
        let mut at = first;
        for _ in 0..LONGEST {
            let next = below(blocks, at).find(|next| goes_on(&blocks[at], &blocks[*next]));
            let Some(next) = next else { break };
            let below = blocks[next].cells.clone();
            let word = below.clone().take_while(|cell| cells[*cell].shown != ' ');
            let end = word.inspect(|cell| chain.push(*cell)).last();
            chains.push(chain.clone());
            if end != Some(below.end - 1) {
                break;
            }
            at = next;
        }
        chains
    };
    (0..blocks.len()).flat_map(from).collect()
}

/// Blocks of the next row in which a block could continue.
fn below(blocks: &[Block], at: usize) -> impl Iterator<Item = usize> {
    let block = &blocks[at];
    let next_row = (at + 1..blocks.len()).skip_while(|n| blocks[*n].row == block.row);
    next_row.take_while(|n| blocks[*n].row == block.row + 1).filter(|n| {
        let other = &blocks[*n];
        let as_first = block.is_first && other.is_first;
        as_first || block.column.abs_diff(other.column) <= INDENT
    })
}

/// Whether the last word of one block continues at the beginning of another.
pub(super) fn goes_on(cells: &[Cell], block: &Block, below: &Block) -> bool {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "_+/=.~@:-".contains(c);
    let shown = |range: Range<usize>| cells[range].iter().map(|cell| cell.shown);
    let word: String = shown(below.cells.clone()).take_while(|c| is_of_key(*c)).collect();
    let Some(last) = shown(block.cells.clone()).next_back().filter(|c| is_of_key(*c)) else {
        return false;
    };
    let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
    let is_key_like =
        word.len() >= KEY_LIKE && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    // Up to and including a dash, at which the rest could have been broken again.
    let piece = word.find('-').map_or(word.len(), |dash| dash + 1);
    let broken_at_dash = last == '-' && piece > block.room;
    !word.is_empty() && (block.room <= SLACK || broken_at_dash || is_key_like)
}
