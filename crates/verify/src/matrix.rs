//! The version matrix as text: for each agent, situations by versions.

use std::fmt::Write as _;

use dogwatch_protocol::verification::{Grade, Start, Totals, Verification};

pub const BEGIN: &str = "<!-- matrix: begin, written by lab/matrix --docs -->";
pub const END: &str = "<!-- matrix: end -->";

/// Whether any version was lied about.
pub fn has_lies(all: &[Verification]) -> bool {
    all.iter().any(|one| one.totals.lies > 0)
}

/// Markdown that can be read as it is.
pub fn markdown(all: &[Verification]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, all);
    text
}

fn write(text: &mut String, all: &[Verification]) -> std::fmt::Result {
    let dates = all.iter().map(|one| one.at.strftime("%Y-%m-%d").to_string());
    let date = dates.max().unwrap_or_default();
    writeln!(text, "Measured on {date} with `lab/matrix`.\n")?;
    summary(text, all)?;
    writeln!(
        text,
        "\nRight: state and details as they were. Detail: the state was right. Wrong: another state, inferred. Lie: another state, \
         asserted. Not known: `unknown`. Times are from the end of a turn to the change in `watch`.\n"
    )?;
    let mut agents: Vec<&str> = Vec::new();
    for one in all {
        if !agents.contains(&one.agent.as_str()) {
            agents.push(&one.agent);
        }
    }
    for agent in agents {
        let versions: Vec<&Verification> = all.iter().filter(|one| one.agent == agent).collect();
        situations(text, agent, &versions)?;
    }
    Ok(())
}

fn name(one: &Verification) -> &str {
    one.version.as_deref().unwrap_or("?")
}

fn summary(text: &mut String, all: &[Verification]) -> std::fmt::Result {
    writeln!(
        text,
        "| agent | version | played | right | detail | not known | wrong | lies | not played | watch p50 | p99 |"
    )?;
    writeln!(text, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")?;
    for one in all {
        let Totals { played, right, detail, not_known, wrong, lies, not_played, .. } = one.totals;
        let percent = f64::from(right) * 100.0 / f64::from(played.max(1));
        let ms = |of: fn(&dogwatch_protocol::verification::Latency) -> u64| {
            one.turn_end.as_ref().map_or_else(String::new, |latency| format!("{} ms", of(latency)))
        };
        let (p50, p99) = (ms(|latency| latency.p50), ms(|latency| latency.p99));
        writeln!(
            text,
            "| {} | {} | {played} | {right} ({percent:.0} %) | {detail} | {not_known} | {wrong} | {lies} | {not_played} | {p50} | {p99} |",
            one.agent,
            name(one),
        )?;
    }
    Ok(())
}

fn situations(text: &mut String, agent: &str, versions: &[&Verification]) -> std::fmt::Result {
    let mut rows: Vec<(Start, &str)> = Vec::new();
    for one in versions {
        for situation in &one.situations {
            let row = (situation.start, situation.name.as_str());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    let names: Vec<&str> = versions.iter().map(|one| name(one)).collect();
    writeln!(text, "| {agent} | {} |", names.join(" | "))?;
    writeln!(text, "| --- |{}", " --- |".repeat(versions.len()))?;
    for (start, situation) in rows {
        let start_words = match start {
            Start::Spawned => "",
            Start::Command => ", no hooks",
            Start::ByHand => ", by hand",
        };
        write!(text, "| {}{start_words} |", situation.replace('_', " "))?;
        for one in versions {
            let found = one.situations.iter().find(|s| s.start == start && s.name == situation);
            write!(text, " {} |", found.map_or("", |found| cell(found.grade)))?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn cell(grade: Grade) -> &'static str {
    match grade {
        Grade::Right => "✓",
        Grade::Detail => "detail",
        Grade::NotKnown => "unknown",
        Grade::Wrong => "wrong",
        Grade::Lie => "**lie**",
        Grade::NotPlayed => "not played",
        Grade::NotApplicable => "–",
    }
}

/// A document with the part between the two marks replaced; `None` if it has no such part.
pub fn with_section(document: &str, section: &str) -> Option<String> {
    let begin = document.find(BEGIN)? + BEGIN.len();
    let end = begin + document.get(begin..)?.find(END)?;
    let section = section.trim_end();
    Some(format!("{}\n\n{section}\n\n{}", document.get(..begin)?, document.get(end..)?))
}

#[cfg(test)]
mod tests {
    use dogwatch_protocol::verification::{Latency, Situation};

    use super::*;

    fn verification(version: &str, grades: &[(&str, Start, Grade)]) -> Verification {
        let situation = |(name, start, grade): &(&str, Start, Grade)| Situation {
            name: (*name).to_owned(),
            start: *start,
            grade: *grade,
            truth: String::new(),
            said: None,
            basis: None,
            source: None,
            settled_ms: None,
            note: None,
        };
        let situations: Vec<Situation> = grades.iter().map(situation).collect();
        Verification {
            agent: "claude".to_owned(),
            program: "/bin/claude".to_owned(),
            version: Some(version.to_owned()),
            dogwatch: "0.1.0".to_owned(),
            at: "2026-11-16T12:00:00Z".parse().expect("a time"),
            seconds: 50,
            totals: Totals::of(&situations),
            situations,
            sources: Vec::new(),
            turn_end: Some(Latency { samples: 3, p50: 120, p99: 300 }),
            report: None,
        }
    }

    #[test]
    fn versions_side_by_side() {
        let all = [
            verification("2.0.1", &[("fresh", Start::Spawned, Grade::Lie)]),
            verification(
                "2.1.0",
                &[("fresh", Start::Spawned, Grade::Right), ("429", Start::ByHand, Grade::Wrong)],
            ),
        ];
        let text = markdown(&all);
        assert!(text.contains("Measured on 2026-11-16"), "{text}");
        assert!(
            text.contains("| claude | 2.0.1 | 1 | 0 (0 %) | 0 | 0 | 0 | 1 | 0 | 120 ms | 300 ms |"),
            "{text}"
        );
        assert!(text.contains("| claude | 2.0.1 | 2.1.0 |\n| --- | --- | --- |\n"), "{text}");
        assert!(text.contains("| fresh | **lie** | ✓ |\n| 429, by hand |  | wrong |\n"), "{text}");
        assert!(has_lies(&all) && !has_lies(&all[1..]));
    }

    #[test]
    fn a_section_is_replaced() {
        let document = format!("# A\n\n{BEGIN}\nold\n{END}\n\nmore\n");
        let new = with_section(&document, "new\n").expect("it has the section");
        assert_eq!(new, format!("# A\n\n{BEGIN}\n\nnew\n\n{END}\n\nmore\n"));
        assert_eq!(with_section(&new, "new\n"), Some(new.clone()), "again changes nothing");
        assert_eq!(with_section("# A\n", "new"), None);
    }
}
