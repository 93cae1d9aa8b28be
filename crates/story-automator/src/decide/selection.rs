//! A person's selection from a list of stories: `all`, `1,3-5`.

use std::collections::BTreeSet;

/// Positions from 1 to `total`, sorted, each once. Anything else is ignored.
pub fn places(input: &str, total: usize) -> Vec<usize> {
    if input.trim().eq_ignore_ascii_case("all") {
        return (1..=total).collect();
    }
    let mut places = BTreeSet::new();
    for part in input.split(',') {
        let part: String = part.split_whitespace().collect();
        match part.split_once('-') {
            None => places.extend(number(&part)),
            Some((from, to)) => {
                if let (Some(from), Some(to)) = (number(from), number(to)) {
                    let (from, to) = (from.min(to), from.max(to));
                    places.extend(from.max(1)..=to.min(total));
                }
            }
        }
    }
    places.into_iter().filter(|place| (1..=total).contains(place)).collect()
}

fn number(text: &str) -> Option<usize> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_as_people_type_them() {
        for (input, expected) in [
            ("ALL", &[1, 2, 3, 4][..]),
            (" all ", &[1, 2, 3, 4]),
            ("1, 3-4", &[1, 3, 4]),
            ("3-1", &[1, 2, 3]),
            ("2,2,1-2", &[1, 2]),
            ("1-9", &[1, 2, 3, 4]),
            ("0", &[]),
            ("x", &[]),
            ("1-", &[]),
            ("-2", &[]),
            ("1-x,2", &[2]),
            ("2 - 3", &[2, 3]),
            ("1-2-3", &[]),
            ("1.5", &[]),
            ("all,1", &[1]),
            ("1-99999999999999999999", &[1, 2, 3, 4]),
        ] {
            assert_eq!(places(input, 4), expected, "{input}");
        }
    }
}
