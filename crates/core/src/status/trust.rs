//! What is made of a verdict whose source is known to be wrong now and then.

use super::{Basis, Source, Verdict};

/// The verdict, which is not asserted if it rests on a source that told a falsehood when this very version was verified
/// (`dogwatch agents verify`). How a process ended is the kernel's word, whatever was verified.
#[must_use]
pub fn unless_distrusted(verdict: Verdict, distrusted: &[Source]) -> Verdict {
    let is_distrusted = verdict
        .decided_by()
        .is_some_and(|source| source != Source::Exit && distrusted.contains(&source));
    match verdict.basis {
        Basis::Asserted if is_distrusted => Verdict { basis: Basis::Inferred, ..verdict },
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Reason, Role, Status};

    #[test]
    fn a_source_that_was_wrong_asserts_nothing() {
        use Basis::{Asserted, Inferred, Stale};
        let table = [
            (Source::Hook, Asserted, &[][..], Asserted),
            (Source::Hook, Asserted, &[Source::Hook], Inferred),
            (Source::Hook, Asserted, &[Source::Transcript], Asserted),
            (Source::Transcript, Asserted, &[Source::Hook, Source::Transcript], Inferred),
            (Source::Screen, Inferred, &[Source::Screen], Inferred),
            (Source::OwnWord, Stale, &[Source::OwnWord], Stale),
            (Source::Exit, Asserted, &[Source::Exit], Asserted),
        ];
        for (source, basis, distrusted, wanted) in table {
            let decided = Reason { source, said: String::new(), at: None, role: Role::Decided };
            let heard = Reason { source: Source::Hook, role: Role::Heard, ..decided.clone() };
            let reasons = vec![heard, decided];
            let verdict = Verdict { status: Status::Exited, basis, since: None, reasons };
            let found = unless_distrusted(verdict, distrusted).basis;
            assert_eq!(found, wanted, "{source:?} {basis:?} {distrusted:?}");
        }
    }
}
