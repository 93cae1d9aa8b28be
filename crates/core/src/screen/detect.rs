//! Applies the rules: the first that matches decides, all that match are reported.

use regex_lite::Captures;

use super::Screen;
use super::details::Picture;
use super::generic;
use super::grid::Grid;
use super::pattern::Pattern;
use super::reading::{Details, Need, Reading, Reason, Region, State};
use super::regions::{Line, Regions};
use super::rules::{Claim, Look, Markers, Rule, Sight, Terminal, Which};
use crate::text::shortened;

/// Longest text of a reason or an error.
const MAX_TEXT: usize = 300;
/// Lines of a wrapped failure that are read on.
const MAX_WRAPPED: usize = 8;
/// Characters of a pane's title that are read.
const MAX_TITLE: usize = 1_000;

/// Where a sight was seen: a line of its region, and what matched there.
struct Seen<'r, 'a> {
    region: Region,
    /// Empty when the region itself was the sight.
    rest: &'r [Line<'a>],
    found: Option<Captures<'a>>,
}

pub(super) fn read(terminal: &Terminal, markers: &Markers, screen: &Screen) -> Reading {
    let title = screen.title.map(printable);
    let screen = &Screen { title: title.as_deref(), ..*screen };
    let grid = visible(screen);
    let layout = &markers.layout;
    let regions = Regions::find(layout, &terminal.shell, &grid, screen);
    let picture = Picture { layout, grid: &grid, regions: &regions, screen };
    let rules = terminal.rules.iter().chain(&markers.rules);
    let reading = picture.decide(terminal, rules);
    // A rule that says that something is hidden knows more than the structure does.
    let is_silent = reading.state == State::Unknown && reading.reasons.is_empty();
    let by_structure = if is_silent { generic::read(&grid, screen.height) } else { None };
    by_structure.unwrap_or(reading)
}

/// Reads the screen of a plain command: whatever it writes, it works, unless it asks on its last line. A program that has
/// the whole screen (an editor, a pager) shows what is not its own.
pub(super) fn read_command(screen: &Screen) -> Reading {
    let asks = if screen.alternate == Some(true) {
        None
    } else {
        generic::asks_at_the_end(&visible(screen))
    };
    asks.unwrap_or(Reading {
        state: State::Unknown,
        details: Details::default(),
        reasons: Vec::new(),
    })
}

fn visible(screen: &Screen) -> Grid {
    let mut grid = Grid::parse(screen.bytes);
    grid.keep_last(screen.height.into());
    grid
}

/// A title without what a terminal would obey: it is quoted in reasons.
fn printable(title: &str) -> String {
    title.chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect()
}

impl<'r, 'a> Picture<'r, 'a> {
    fn decide<'m>(&self, terminal: &Terminal, rules: impl Iterator<Item = &'m Rule>) -> Reading {
        let mut details = Details::default();
        let mut reasons = Vec::new();
        let mut decided = None;
        for rule in rules {
            let Some(seen) = self.rule(rule) else { continue };
            if let Some(found) = &seen.found {
                details.fill(found);
            }
            if decided.is_none() {
                decided = claim(terminal, rule, &seen).map(|state| (reasons.len(), state));
            }
            reasons.push(reason(rule, &seen));
        }
        let state = match decided {
            Some((first, state)) => {
                reasons[..=first].rotate_right(1);
                state
            }
            None => State::Unknown,
        };
        details.complete(&state, self);
        Reading { state, details, reasons }
    }

    fn rule(&self, rule: &Rule) -> Option<Seen<'r, 'a>> {
        if rule.alternate.is_some() && rule.alternate != self.screen.alternate {
            return None;
        }
        let seen = self.sight(&rule.see)?;
        let fits = rule.with.iter().all(|sight| self.sight(sight).is_some())
            && !rule.without.iter().any(|sight| self.sight(sight).is_some());
        fits.then_some(seen)
    }

    fn sight(&self, sight: &Sight) -> Option<Seen<'r, 'a>> {
        let lines = self.regions.get(sight.region)?;
        let Some(pattern) = &sight.pattern else {
            return Some(Seen { region: sight.region, rest: lines, found: None });
        };
        let range = match sight.line {
            Which::Any => 0..lines.len(),
            Which::First => 0..lines.len().min(1),
            Which::Last => lines.len().saturating_sub(1)..lines.len(),
        };
        // The last line that matches is the newest.
        let (index, found) = range.rev().find_map(|index| {
            let found = pattern.captures(lines[index].text())?;
            self.looks(sight.look, lines[index], &found).then_some((index, found))
        })?;
        let rest = &lines[index..];
        let newer = |kind: &Pattern| rest[1..].iter().any(|line| kind.matches(line.text()));
        let newest = !sight.newest_of.as_ref().is_some_and(newer);
        newest.then_some(Seen { region: sight.region, rest, found: Some(found) })
    }

    fn looks(&self, look: Option<Look>, line: Line, found: &Captures) -> bool {
        let (Some(look), true) = (look, self.grid.styled()) else { return true };
        let whole = &found[0];
        let end = found.get(0).map_or(0, |found| found.end());
        let last = end.saturating_sub(whole.chars().last().map_or(0, char::len_utf8));
        let style = line.style_at(last);
        let coloured = style.fg != super::style::Color::Default;
        match look {
            Look::Coloured => coloured,
            Look::Dim => style.dim,
            Look::Plain => !style.dim && !coloured,
        }
    }
}

fn reason(rule: &Rule, seen: &Seen) -> Reason {
    let text = seen.rest.first().map_or("", |line| line.text().trim());
    Reason { rule: rule.name.clone(), region: rule.see.region, text: shortened(text, MAX_TEXT) }
}

fn claim(terminal: &Terminal, rule: &Rule, seen: &Seen) -> Option<State> {
    Some(match rule.state {
        Claim::Note => return None,
        Claim::Hidden => State::Unknown,
        Claim::Starting => State::Starting,
        Claim::Working => State::Working,
        Claim::Waiting => State::Waiting { need: rule.need.unwrap_or(Need::Other) },
        Claim::Idle => State::Idle { done: false },
        Claim::Done => State::Idle { done: true },
        Claim::Exited => State::Exited,
        Claim::Crashed => State::Crashed,
        Claim::Limited => State::Limited { until: until(terminal, &wrapped(seen)) },
        Claim::Failed => failed(terminal, rule, &wrapped(seen)),
    })
}

fn failed(terminal: &Terminal, rule: &Rule, text: &str) -> State {
    let known = terminal.failures.iter().find(|failure| failure.pattern.matches(text));
    if known.is_some_and(|failure| failure.limit) {
        return State::Limited { until: until(terminal, text) };
    }
    let kind = known.map(|failure| &failure.kind).or(rule.kind.as_ref());
    State::Error {
        kind: kind.map_or_else(|| "other".to_owned(), Clone::clone),
        text: shortened(text, MAX_TEXT),
    }
}

pub(super) fn until(terminal: &Terminal, text: &str) -> Option<String> {
    let found = terminal.until.captures(text)?;
    Some(found.name("until")?.as_str().trim().to_owned())
}

/// The text of a failure: from the match on, over the lines it was wrapped into.
fn wrapped(seen: &Seen) -> String {
    let Some((first, rest)) = seen.rest.split_first() else { return String::new() };
    let text = seen.found.as_ref().and_then(|found| found.name("text"));
    let mut text = text.map_or_else(|| first.text().trim(), |text| text.as_str().trim()).to_owned();
    // A block has no other text in it; elsewhere, what is wrapped is indented.
    let goes_on = |line: &&Line| seen.region == Region::Activity || line.text().starts_with("  ");
    for line in rest.iter().take(MAX_WRAPPED).take_while(goes_on) {
        text.push(' ');
        text.push_str(line.text().trim());
    }
    text
}
