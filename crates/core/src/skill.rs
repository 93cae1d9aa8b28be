//! The mark by which dogwatch knows a skill file that it wrote: the file's last line, with a checksum of the rest.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

const BEGIN: &str = "<!-- written by dogwatch install-skill, sha256 ";
const END: &str = " -->\n";

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Written by dogwatch, and as it was.
    Ours,
    /// Written by dogwatch, and changed since.
    Changed,
    Foreign,
}

/// The text with its mark.
pub fn marked(text: &str) -> String {
    format!("{text}{BEGIN}{}{END}", sum(text))
}

pub fn ownership(content: &str) -> Ownership {
    let Some(at) = content.rfind(BEGIN) else { return Ownership::Foreign };
    let (text, mark) = content.split_at(at);
    if mark == format!("{BEGIN}{}{END}", sum(text)) { Ownership::Ours } else { Ownership::Changed }
}

fn sum(text: &str) -> String {
    let mut sum = String::new();
    for byte in Sha256::digest(text).iter().take(8) {
        let _ = write!(sum, "{byte:02x}");
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_as_we_wrote_it_is_ours() {
        let written = marked("# skill\n");
        assert_eq!(ownership(&written), Ownership::Ours);
        assert_eq!(ownership(&written.replace("# skill", "# mine")), Ownership::Changed);
        assert_eq!(ownership(&format!("{written}more\n")), Ownership::Changed);
        assert_eq!(ownership("# mine\n"), Ownership::Foreign);
    }
}
