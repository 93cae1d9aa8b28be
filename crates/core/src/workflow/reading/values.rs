//! Single values of a workflow file, checked.

use jiff::SignedDuration;
use toml::Spanned;

use super::{Problem, problem};

/// Any larger number is a typing error.
pub(super) const MOST: u32 = 1000;

pub(super) fn count(value: Option<&Spanned<u32>>) -> Result<Option<u32>, Problem> {
    match value {
        Some(value) if !(1..=MOST).contains(value.get_ref()) => {
            problem(value.span(), format!("must be from 1 to {MOST}"))
        }
        value => Ok(value.map(|value| *value.get_ref())),
    }
}

pub(super) fn duration(
    value: Option<Spanned<SignedDuration>>,
    usual: SignedDuration,
) -> Result<SignedDuration, Problem> {
    match value {
        Some(value) if !value.get_ref().is_positive() => {
            problem(value.span(), "the duration must be greater than zero")
        }
        value => Ok(value.map_or(usual, Spanned::into_inner)),
    }
}

pub(super) fn name(value: Option<Spanned<String>>) -> Result<Option<String>, Problem> {
    match value {
        Some(value) if value.get_ref().trim().is_empty() => problem(value.span(), "empty"),
        value => Ok(value.map(Spanned::into_inner)),
    }
}

/// Ids become parts of session names, branches and files.
pub(super) fn word(text: &Spanned<String>, what: &str) -> Result<(), Problem> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let value = text.get_ref();
    if value.is_empty()
        || value.len() > 60
        || !value.chars().all(fine)
        || value.starts_with(['-', '.'])
    {
        let text_ = format!(
            "{what} may contain letters, digits, '-', '_' and '.', at most 60, and must not begin with '-' or '.'"
        );
        return problem(text.span(), text_);
    }
    Ok(())
}
