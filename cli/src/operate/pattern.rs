//! Patterns of ARNs, as the parameters of the stack and the policies of IAM have them.

/// Returns whether `text` matches `pattern`, in which `*` stands for any characters, as in a Resource of IAM.
pub(crate) fn covers(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_any_characters_and_nothing_else_does() {
        for (pattern, text, expected) in [
            ("report:*", "report:4", true),
            ("report:*", "report-b:4", false),
            ("report:4", "report:4", true),
            ("report:4", "report:41", false),
            ("report", "report:4", false),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("a*bc", "abcbc", true),
            ("ab*ba", "aba", false),
            ("", "a", false),
        ] {
            assert_eq!(covers(pattern, text), expected, "{pattern} {text}");
        }
    }
}
