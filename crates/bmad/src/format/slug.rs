//! The short name and the hash of a project, for session and file names.

use md5::{Digest as _, Md5};

/// The project directory's name in lower-case letters and digits, at most eight; `project` if none is left.
pub fn slug(folder_name: &str) -> String {
    let slug: String =
        folder_name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    if slug.is_empty() { "project".to_owned() } else { slug }
}

/// The first eight hexadecimal digits of the MD5 of a text.
pub fn short_hash(text: impl AsRef<[u8]>) -> String {
    use std::fmt::Write as _;
    Md5::digest(text.as_ref()).iter().take(4).fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_of_directories() {
        for (folder, expected) in [
            ("my-awesome-project", "myawesom"),
            ("My_Awesome-Project.v2", "myawesom"),
            ("demo-app", "demoapp"),
            ("___", "project"),
            ("", "project"),
            ("é1", "1"),
        ] {
            assert_eq!(slug(folder), expected, "{folder}");
        }
    }

    #[test]
    fn hashes_of_texts() {
        assert_eq!(short_hash(""), "d41d8cd9");
        assert_eq!(short_hash("/a"), "0639767f");
    }
}
