//! The files of a patch in the form of codex's `apply_patch`, all of them or none.

/// Lines that name no file.
const OTHERS: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];
const MARKS: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Every file that a patch may change; `None` if one of its lines is not known. codex finds its marks behind blanks too, so a line that
/// is only context may be taken for one here: a file too many.
pub(super) fn named(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if !line.starts_with("***") || OTHERS.contains(&line) {
            continue;
        }
        let path = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?.trim();
        if path.is_empty() || path.contains('\0') {
            return None;
        }
        found.push(path.to_owned());
    }
    found.sort();
    found.dedup();
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_or_none() {
        let patch = |lines: &str| format!("*** Begin Patch\n{lines}\n*** End Patch\n");
        let table: [(&str, Option<&[&str]>); 9] = [
            ("*** Add File: a\n+x", Some(&["a"])),
            ("*** Update File: a\n*** Move to: /b c\n@@\n-x\n+y", Some(&["/b c", "a"])),
            ("*** Delete File: a", Some(&["a"])),
            ("*** Add File: a\n+*** End Patch\n*** Add File: /etc/x\n+y", Some(&["/etc/x", "a"])),
            ("*** Add File: a\n+x\n  *** Add File: /etc/x\n+y", Some(&["/etc/x", "a"])),
            ("*** Add File: a\n+*** Add File: no", Some(&["a"])),
            ("*** Environment ID: x\n*** Add File: a", None),
            ("*** Add File: ", None),
            ("+x", None),
        ];
        for (lines, want) in table {
            let found = named(&patch(lines));
            assert_eq!(
                found.as_deref(),
                want.map(|all| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).as_deref(),
                "{lines}"
            );
        }
    }
}
