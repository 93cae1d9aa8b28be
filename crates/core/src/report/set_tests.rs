//! The labelled set: transcripts of real agents, played against the model double by `lab/claims/record`. The rules were written
//! with one half in sight; the figures of `docs/report.md` are those of the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::account::{Account, ClaimVerdict};
use super::claims::Says;
use super::commands::Kind;
use crate::transcript::Dialect;

#[derive(Deserialize)]
struct First {
    label: Label,
}

#[derive(Deserialize)]
struct Label {
    agent: Dialect,
    version: String,
    half: String,
    claims: Vec<Expected>,
}

#[derive(Debug, Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    kind: String,
    says: String,
    verdict: String,
}

#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    transcripts: usize,
    expected: usize,
    reported: usize,
    right: usize,
}

impl Figures {
    fn precision(self) -> f64 {
        ratio(self.right, self.reported)
    }

    fn recall(self) -> f64 {
        ratio(self.right, self.expected)
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    let [part, whole] = [part, whole].map(|n| f64::from(u32::try_from(n).unwrap()));
    part / whole
}

fn reported(account: &Account) -> Vec<Expected> {
    let mut found: Vec<Expected> = account
        .claims
        .iter()
        .map(|claim| Expected {
            kind: if claim.claim.kind == Kind::Test { "test" } else { "build" }.to_owned(),
            says: if claim.claim.says == Says::Pass { "pass" } else { "fail" }.to_owned(),
            verdict: match claim.verdict {
                ClaimVerdict::Holds => "holds",
                ClaimVerdict::Contradicted => "contradicted",
                ClaimVerdict::Unproven => "unproven",
            }
            .to_owned(),
        })
        .collect();
    found.sort();
    found
}

#[test]
fn claims_of_the_labelled_set() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/claims");
    let shows_held_out = std::env::var_os("DOGWATCH_SHOW_HELD_OUT").is_some();
    let mut halves: BTreeMap<String, Figures> = BTreeMap::new();
    let mut builds: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|f| f.path()).collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let First { label } = serde_json::from_str(first).unwrap();
        let mut account = Account::default();
        for (number, line) in rest.lines().enumerate() {
            account.take_in(label.agent, u64::try_from(number).unwrap() + 1, line);
        }
        let mut expected = label.claims.clone();
        expected.sort();
        let found = reported(&account);
        let mut left = expected.clone();
        let right = found.iter().filter(|one| {
            let at = left.iter().position(|expected| expected == *one);
            at.map(|at| left.remove(at)).is_some()
        });
        let right = right.count();
        let figures = halves.entry(label.half.clone()).or_default();
        figures.transcripts += 1;
        figures.expected += expected.len();
        figures.reported += found.len();
        figures.right += right;
        *builds.entry(format!("{:?} {}", label.agent, label.version)).or_default() += 1;
        if found != expected && (shows_held_out || label.half == "rules") {
            wrong.push(format!("{}: expected {expected:?}, found {found:?}", path.display()));
        }
    }
    println!("{builds:#?}");
    for (half, figures) in &halves {
        let (precision, recall) = (figures.precision() * 100.0, figures.recall() * 100.0);
        println!("{half}: {figures:?} precision {precision:.1} % recall {recall:.1} %");
    }
    println!("{wrong:#?}");
    let held_out = halves["held_out"];
    assert!(held_out.transcripts + halves["rules"].transcripts >= 60);
    assert!(held_out.precision() >= 0.95, "{held_out:?}");
    assert!(held_out.recall() >= 0.80, "{held_out:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
