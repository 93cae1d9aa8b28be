//! Formats: `#{name}`, `##`, and the few expressions that dogwatch uses.

/// Expands a format. `value` gives the value of a name; an unknown name is empty, as in tmux.
pub(super) fn expand(format: &str, value: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('#') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('#') {
            out.push('#');
            rest = after;
        } else if rest.starts_with('{') {
            let end = closing(rest);
            out.push_str(&expression(&rest[1..end], value));
            rest = rest.get(end + 1..).unwrap_or_default();
        } else {
            out.push('#');
        }
    }
    out.push_str(rest);
    out
}

fn expression(body: &str, value: &dyn Fn(&str) -> String) -> String {
    if let Some(operands) = body.strip_prefix("==:") {
        let parts: Vec<String> = parts(operands).iter().map(|part| expand(part, value)).collect();
        let is_same = parts.first() == parts.get(1);
        return u8::from(is_same).to_string();
    }
    if let Some(choice) = body.strip_prefix('?') {
        let parts = parts(choice);
        let [condition, yes, no] = [0, 1, 2].map(|at| parts.get(at).copied().unwrap_or_default());
        let condition = value(condition);
        let is_true = !condition.is_empty() && condition != "0";
        return expand(if is_true { yes } else { no }, value);
    }
    value(body)
}

/// The position of the brace that closes the first one.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Splits at commas outside of braces.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_expanded() {
        let value = |name: &str| match name {
            "pane_id" => "%3".to_owned(),
            "yes" => "1".to_owned(),
            _ => String::new(),
        };
        for (format, expected) in [
            ("#{pane_id} x", "%3 x"),
            ("##{pane_id}", "#{pane_id}"),
            ("#{unknown}.", "."),
            ("#{==:#{pane_id},%3}", "1"),
            ("#{==:#{pane_id},%4}", "0"),
            ("#{?yes,#{pane_id},none}", "%3"),
            ("#{?no,,none}", "none"),
            ("100% # sure", "100% # sure"),
        ] {
            assert_eq!(expand(format, &value), expected, "{format}");
        }
    }
}
