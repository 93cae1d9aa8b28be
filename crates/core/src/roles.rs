//! What a role in a team looks like.

/// The colour of an agent's prompt and of its pane's border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// As agents know it.
    pub color: &'static str,
    /// As tmux knows it.
    pub border: &'static str,
}

const LOOKS: [(&[&str], Look); 7] = [
    (&["master", "coordinator"], Look { color: "blue", border: "#3d6095" }),
    (&["dev"], Look { color: "green", border: "#4a6e38" }),
    (&["qa", "review"], Look { color: "red", border: "#783a3c" }),
    (&["architect", "pm"], Look { color: "purple", border: "#5c3c78" }),
    (&["analyst", "research"], Look { color: "orange", border: "#784828" }),
    (&["sm", "ux"], Look { color: "cyan", border: "#2a6e6e" }),
    (&["tech-writer"], Look { color: "yellow", border: "#6e6e2a" }),
];
const ANY_OTHER: Look = Look { color: "pink", border: "#784848" };

/// The role of one who leads a team.
pub const MASTER: &str = "master";
/// Longest role, in bytes.
pub const MAX_LEN: usize = 40;

/// The look of a role.
pub fn look(role: &str) -> Look {
    let known = LOOKS.iter().find(|(roles, _)| roles.contains(&role));
    known.map_or(ANY_OTHER, |(_, look)| *look)
}

/// Why a text cannot be a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{role:?} is not a valid role: use lower-case letters, digits, '-' and '_', starting with a letter, at most {MAX_LEN} characters"
)]
pub struct BadRole {
    pub role: String,
}

/// A role as it is written everywhere: in names, titles and the session file.
pub fn role(text: &str) -> Result<String, BadRole> {
    let role = text.trim().to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let begins = role.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && role.len() <= MAX_LEN && role.chars().all(is_plain) {
        Ok(role)
    } else {
        Err(BadRole { role: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_as_the_contract_has_them() {
        let table = [
            ("master", "blue", "#3d6095"),
            ("coordinator", "blue", "#3d6095"),
            ("dev", "green", "#4a6e38"),
            ("qa", "red", "#783a3c"),
            ("review", "red", "#783a3c"),
            ("architect", "purple", "#5c3c78"),
            ("pm", "purple", "#5c3c78"),
            ("analyst", "orange", "#784828"),
            ("research", "orange", "#784828"),
            ("sm", "cyan", "#2a6e6e"),
            ("ux", "cyan", "#2a6e6e"),
            ("tech-writer", "yellow", "#6e6e2a"),
            ("gardener", "pink", "#784848"),
        ];
        for (role, color, border) in table {
            assert_eq!(look(role), Look { color, border }, "{role}");
        }
    }

    #[test]
    fn roles() {
        assert_eq!(role(" Dev ").unwrap(), "dev");
        assert_eq!(role("tech-writer_2").unwrap(), "tech-writer_2");
        for bad in ["", "2dev", "-dev", "a b", "a|b", "a·b", "ä", "a\n", &"x".repeat(41)] {
            assert_eq!(role(bad).is_ok(), bad == "a\n", "{bad:?}");
        }
    }
}
