//! Merges a file of rows, `key: value`, that two sides changed: each row is independent, whatever is next to it.

use std::collections::BTreeMap;

/// Ours, with the rows that only they changed. `None` if both changed the same row differently, or they changed more than rows.
pub fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let (of_base, of_theirs) = (rows(base)?, rows(theirs)?);
    let mut out = String::with_capacity(ours.len());
    let mut seen = Vec::new();
    for line in ours.split_inclusive('\n') {
        let Some(key) = key(line) else {
            out.push_str(line);
            continue;
        };
        seen.push(key);
        let mine = line.trim_end();
        match (of_base.get(key).copied(), of_theirs.get(key).copied()) {
            // They removed it or never had it; ours stays.
            (_, None) => out.push_str(line),
            (before, Some(them)) if them == mine || before == Some(them) => out.push_str(line),
            (before, Some(them)) if before == Some(mine) => {
                out.push_str(them);
                out.push('\n');
            }
            // A conflict in a date of the last change does not matter.
            (_, Some(them)) if key.contains("updated") || key.contains("date") => {
                out.push_str(if them > mine { them } else { mine });
                out.push('\n');
            }
            _ => return None,
        }
    }
    // There is no place for a row that only they have.
    of_theirs.keys().all(|key| seen.contains(key) || of_base.contains_key(key)).then_some(out)
}

fn rows(text: &str) -> Option<BTreeMap<&str, &str>> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        if let Some(key) = key(line)
            && rows.insert(key, line.trim_end()).is_some()
        {
            return None;
        }
    }
    Some(rows)
}

fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim();
    (!key.is_empty() && !key.starts_with('#')).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_two_sides_are_merged() {
        let base = "# head\nlast_updated: 1\nstatus:\n  a: todo\n  b: todo # x\n";
        let ours = "# head\nlast_updated: 2\nstatus:\n  a: done\n  b: todo # x\n";
        let theirs = "# head\nlast_updated: 3\nstatus:\n  a: todo\n  b: done\n";
        let both = "# head\nlast_updated: 3\nstatus:\n  a: done\n  b: done\n";
        assert_eq!(merged(base, ours, theirs).as_deref(), Some(both));
        assert_eq!(merged(base, base, theirs).as_deref(), Some(theirs));
        assert_eq!(merged(base, ours, "status:\n  a: review\n"), None, "the same row");
        assert_eq!(merged(base, ours, &format!("{theirs}  c: todo\n")), None, "a new row");
    }
}
