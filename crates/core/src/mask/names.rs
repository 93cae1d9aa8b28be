//! Recognises variables with secrets by their names.

/// Endings of name parts that mark a secret: `OPENAI_API_KEY`, `PGPASSWORD`, not `KEYBOARD`.
const TELLING: [&str; 9] =
    ["KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE"];

/// Values to hide. A switch or a number is not a secret, unless the name says password.
pub fn secret_values<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let is_secret = |(name, value): &(&str, &str)| {
        let is_number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        says_secret(name) && (!is_number || name.to_ascii_uppercase().contains("PASS"))
    };
    variables.into_iter().filter(is_secret).map(|(_, value)| value.to_owned()).collect()
}

/// Whether a variable or a field of this name holds a secret.
pub(super) fn says_secret(name: &str) -> bool {
    let words: Vec<String> = words(name);
    let ends = |word: &String| TELLING.iter().any(|telling| word.ends_with(telling));
    words.iter().any(ends) || words.iter().any(|word| word == "AUTHORIZATION" || word == "COOKIE")
}

/// `accessToken`, `ACCESS_TOKEN` and `access-token` have the same words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || (after_small && letter.is_uppercase());
        if begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_uppercase());
        }
        after_small = letter.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mark_a_secret() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "npm_config__authToken",
            "clientSecret",
            "api-key",
            "X_KEYS",
        ] {
            assert!(says_secret(name), "{name}");
        }
        for name in [
            "KEYBOARD_LAYOUT",
            "TOKENIZERS_PARALLELISM",
            "PATH",
            "PWD",
            "SSH_AUTH_SOCK",
            "tool_name",
            "",
        ] {
            assert!(!says_secret(name), "{name}");
        }
    }

    #[test]
    fn values_of_such_names_are_secret() {
        let pairs = [
            ("A_KEY", "abcdef"),
            ("MAX_TOKENS", "31999"),
            ("DB_PASSWORD", "123456"),
            ("HOME", "/home/me"),
        ];
        assert_eq!(secret_values(pairs), ["abcdef", "123456"]);
    }
}
