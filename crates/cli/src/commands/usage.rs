use std::fmt::Write as _;

use dogwatch_core::exit_code;
use dogwatch_core::usage::{cost_words, svg, token_words};
use dogwatch_engine::observe::usage::{self, Query};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::usage::{By, UsageReport, UsageRow, Used};

use crate::args::UsageArgs;
use crate::table::{Cell, Table};
use crate::ui;

pub(crate) fn usage(context: &Context, args: &UsageArgs) -> Result<u8, Error> {
    let query = Query { by: args.by.0, since: args.since };
    let (report, notes) = usage::report(context, query)?;
    for note in notes {
        ui::talk(format_args!("note: {note}"));
    }
    if ui::prints_json() {
        ui::json(&report);
    } else if args.csv {
        ui::raw(csv(&report).as_bytes());
    } else if let Some(path) = &args.svg {
        let whole =
            std::path::absolute(path).map_err(Error::io(format!("write {}", path.display())))?;
        dogwatch_store::replace(&whole, svg(&report).as_bytes())?;
        ui::talk(format_args!("wrote {}", path.display()));
    } else if report.rows.is_empty() {
        ui::talk("no usage found");
    } else {
        ui::line(table(&report));
        talk_of_prices(&report);
    }
    Ok(exit_code::OK)
}

fn table(report: &UsageReport) -> Table {
    let by = report.by.as_str().to_uppercase();
    let mut header =
        vec![&*by, "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "SUBAGENTS", "COST"];
    let is_of_sessions = report.by == By::Session;
    if is_of_sessions {
        header.splice(1..1, ["AGENT", "FOLDER"]);
    }
    let mut table = ui::table(&header).spare(&["SUBAGENTS", "CACHE WRITE"]);
    for row in &report.rows {
        let mut cells: Vec<Cell> = vec![label(row).into()];
        if is_of_sessions {
            cells.push(row.agent.clone().unwrap_or_default().into());
            cells.push(row.project.clone().unwrap_or_default().into());
        }
        cells.extend(numbers(&row.used));
        table.row(cells);
    }
    if report.rows.len() > 1 {
        let mut cells: Vec<Cell> = vec!["total".into()];
        if is_of_sessions {
            cells.extend(["".into(), "".into()]);
        }
        cells.extend(numbers(&report.total));
        table.row(cells);
    }
    table
}

fn label(row: &UsageRow) -> String {
    row.key.clone().unwrap_or_else(|| "none".to_owned())
}

fn numbers(used: &Used) -> Vec<Cell> {
    let tokens = used.tokens;
    [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, used.subagents.total()]
        .map(|n| Cell::from(token_words(n)))
        .into_iter()
        .chain([cost_words(used).into()])
        .collect()
}

/// What the costs are, and what they are not.
fn talk_of_prices(report: &UsageReport) {
    let total = &report.total;
    ui::talk(format_args!("costs: list prices as of {}, in US dollars", report.prices_of));
    if !total.unpriced.is_empty() {
        ui::talk(format_args!(
            "no price known for: {}; add a [[price]] to config.toml",
            total.unpriced.join(", ")
        ));
    }
}

fn csv(report: &UsageReport) -> String {
    let mut text = format!(
        "{},session,conversation,agent,project,messages,input,output,cache_read,cache_write,cache_write_1h,subagents,cost_usd,cost_is_lower_bound\r\n",
        report.by.as_str()
    );
    for row in &report.rows {
        let (used, tokens) = (&row.used, row.used.tokens);
        let words = [
            row.key.as_deref(),
            row.session.as_deref(),
            row.conversation.as_deref(),
            row.agent.as_deref(),
            row.project.as_deref(),
        ];
        for word in words {
            let _ = write!(text, "{},", quoted(word.unwrap_or_default()));
        }
        let cost = used.cost_usd.map(|cost| cost.to_string()).unwrap_or_default();
        let [input, output, read, write, for_an_hour] = tokens.numbers();
        let _ = write!(
            text,
            "{},{input},{output},{read},{write},{for_an_hour},{},{cost},{}\r\n",
            used.messages,
            used.subagents.total(),
            used.cost_is_lower_bound
        );
    }
    text
}

/// A field of a CSV file. A spreadsheet takes what begins so for a formula, unless an apostrophe is before it.
fn quoted(word: &str) -> String {
    let word = ui::harmless(word.to_owned());
    let guard = if word.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let word = format!("{guard}{word}");
    if word.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_csv_file() {
        for (word, want) in [
            ("plain", "plain"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("", ""),
        ] {
            assert_eq!(quoted(word), want);
        }
    }
}
