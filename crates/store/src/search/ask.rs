//! Asking the index.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{BITS, COLUMNS, SearchIndex, Source, from_row};
use crate::StoreError;

/// With so many rows that match, all of them are looked at. A word that is in more is in nearly every conversation: then the newest
/// ones are asked one by one, until enough have it.
const FEW: usize = 20_000;
/// Words around a match.
const AROUND: u32 = 24;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Of [`dogwatch_core::search::expression`].
    pub expression: &'a str,
    /// Most sources in the answer.
    pub limit: usize,
    /// What stands before and after a word that matches.
    pub marks: (&'a str, &'a str),
}

/// A source that matches, and its best match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub source: Source,
    /// Rows of it that match; none were counted beyond the first if the word is everywhere.
    pub matches: u32,
    pub said: String,
    /// Milliseconds since 1970.
    pub at: Option<i64>,
    /// The text around the match, with marks.
    pub snippet: String,
}

impl SearchIndex {
    /// Sources that match, those with a match in title or prompt first, then by the time of their newest match. `fits` says which
    /// sources count. `true` if there are more.
    pub fn ask(
        &self,
        question: &Question<'_>,
        fits: impl Fn(&Source) -> bool,
    ) -> Result<(Vec<Found>, bool), StoreError> {
        self.read(|c| {
            // One view of the index: rows that are written meanwhile would be of other sources, or gone when they are shown.
            let view = c.unchecked_transaction()?;
            let c = &*view;
            let sources = by_time(c, fits)?;
            let rows = matching(c, question.expression, FEW + 1)?;
            let chosen = if rows.len() > FEW {
                one_by_one(c, question, &sources)?
            } else {
                of_all(c, question, &rows, &sources)?
            };
            let is_more = chosen.len() > question.limit;
            let shown = chosen.into_iter().take(question.limit);
            let found = shown.map(|chosen| show(c, question, chosen)).collect::<Result<_, _>>()?;
            Ok((found, is_more))
        })
    }
}

/// A source, the row that is shown of it, and how many match.
struct Chosen<'a> {
    source: &'a Source,
    row: i64,
    matches: u32,
}

fn by_time(c: &Connection, fits: impl Fn(&Source) -> bool) -> rusqlite::Result<Vec<Source>> {
    let sql = format!("SELECT {COLUMNS} FROM sources WHERE count > 0 ORDER BY latest DESC");
    let mut statement = c.prepare_cached(&sql)?;
    let rows = statement.query_map([], from_row)?;
    rows.filter(|row| row.as_ref().map_or(true, &fits)).collect()
}

/// Numbers of rows that match, without reading them.
fn matching(c: &Connection, expression: &str, most: usize) -> rusqlite::Result<Vec<i64>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    c.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?")?
        .query_map(params![expression, most], |row| row.get(0))?
        .collect()
}

/// The best of all matches. Titles and prompts are the first rows of a source, but agents also find a title later.
fn of_all<'a>(
    c: &Connection,
    question: &Question<'_>,
    rows: &[i64],
    sources: &'a [Source],
) -> rusqlite::Result<Vec<Chosen<'a>>> {
    let words = words(question.expression);
    let known: HashMap<i64, &Source> = sources.iter().map(|source| (source.id, source)).collect();
    let mut of_each: HashMap<i64, (i64, i64, u32)> = HashMap::new();
    for row in rows.iter().filter(|row| known.contains_key(&(**row >> BITS))) {
        let (first, last, matches) = of_each.entry(row >> BITS).or_insert((*row, *row, 0));
        (*first, *last, *matches) = ((*first).min(*row), (*last).max(*row), *matches + 1);
    }
    let mut ranked = Vec::new();
    for (id, (first, last, matches)) in of_each {
        let mut heading = None;
        if first & ((1 << BITS) - 1) < 4 && is_heading(c, first)? {
            heading = Some(first);
        } else if has_one_of(known[&id], &words) {
            // Only of these, more rows need be read.
            let mut own = rows.iter().copied().filter(|row| row >> BITS == id);
            heading = own
                .find_map(|row| is_heading(c, row).map(|is| is.then_some(row)).transpose())
                .transpose()?;
        }
        let row = heading.unwrap_or(last);
        ranked.push((heading.is_some(), Chosen { source: known[&id], row, matches }));
    }
    ranked.sort_by_key(|(is_first, chosen)| {
        (std::cmp::Reverse((*is_first, chosen.source.latest)), chosen.source.id)
    });
    Ok(ranked.into_iter().map(|(_, chosen)| chosen).take(question.limit + 1).collect())
}

/// The words of an expression, in small letters.
fn words(expression: &str) -> Vec<String> {
    let words = expression.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether the title of a source has one of the words.
fn has_one_of(source: &Source, words: &[String]) -> bool {
    let title = source.title.as_deref().unwrap_or_default().to_lowercase();
    words.iter().any(|word| title.contains(word.as_str()))
}

fn is_heading(c: &Connection, row: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT said FROM texts WHERE rowid = ?";
    let said: Option<String> = c.prepare_cached(sql)?.query_row([row], |r| r.get(0)).optional()?;
    Ok(said.is_some_and(|said| said == "title" || said == "prompt"))
}

/// The newest sources that match.
fn one_by_one<'a>(
    c: &Connection,
    question: &Question<'_>,
    sources: &'a [Source],
) -> rusqlite::Result<Vec<Chosen<'a>>> {
    let mut find = c.prepare_cached(
        "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT 1",
    )?;
    let mut chosen = Vec::new();
    for source in sources {
        let range = params![question.expression, source.id << BITS, (source.id + 1) << BITS];
        if let Some(row) = find.query_row(range, |row| row.get(0)).optional()? {
            chosen.push(Chosen { source, row, matches: 1 });
        }
        if chosen.len() > question.limit {
            break;
        }
    }
    Ok(chosen)
}

fn show(c: &Connection, question: &Question<'_>, chosen: Chosen<'_>) -> rusqlite::Result<Found> {
    let (before, after) = question.marks;
    c.prepare_cached(
        "SELECT said, at, snippet(texts, 0, ?3, ?4, '…', ?5) FROM texts WHERE texts MATCH ?1 AND rowid = ?2",
    )?
    .query_row(params![question.expression, chosen.row, before, after, AROUND], |row| {
        Ok(Found {
            source: chosen.source.clone(),
            matches: chosen.matches,
            said: row.get(0)?,
            at: row.get(1)?,
            snippet: row.get(2)?,
        })
    })
}
