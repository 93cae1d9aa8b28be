//! Where we answer otherwise on purpose, and why.

use serde::Deserialize;

use super::case::Case;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deviations {
    /// Commands that are not there yet: what they answer is reported, and fails nobody.
    pending: Vec<String>,
    #[serde(rename = "deviation")]
    deviations: Vec<Deviation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    cases: Vec<String>,
    #[serde(rename = "why")]
    _why: String,
    /// A part of each finding, so that nothing else goes wrong unnoticed.
    #[serde(default)]
    got: Option<String>,
}

pub(crate) fn read() -> Deviations {
    toml::from_str(include_str!("deviations.toml")).expect("deviations can be read")
}

impl Deviations {
    /// A word on it, or what is wrong.
    pub(crate) fn judge(&self, case: &Case, findings: Vec<String>) -> Result<&'static str, String> {
        let known = self.deviations.iter().find(|deviation| deviation.cases.contains(&case.id));
        let all = findings.join("\n");
        let is_pending = self.pending.contains(&case.verb());
        match (known, findings.is_empty()) {
            (None, true) => Ok(""),
            (Some(known), false) if known.got.as_ref().is_none_or(|got| all.contains(got)) => {
                Ok(" (otherwise, on purpose)")
            }
            _ if is_pending => {
                if !findings.is_empty() {
                    eprintln!("{}: not yet\n{all}", case.name());
                }
                Ok(" (not there yet)")
            }
            (Some(_), true) => {
                Err("   is answered the same by now: take it out of deviations.toml".to_owned())
            }
            (_, false) => Err(format!("{all}\n   {}", case.notes)),
        }
    }
}
