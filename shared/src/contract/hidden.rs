//! Characters that a text must not contain when it is shown to a person.

/// Returns whether `character` controls a terminal, or makes a text look different from what it is: a control
/// character, a mark that changes the direction of a text, or a character without width
/// (<https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing>).
///
/// Returns false for the joiners U+200C and U+200D, because words of several languages need them.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'
                | '\u{200E}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_bidirectional_and_invisible_characters_are_hidden() {
        for character in [
            '\n', '\u{1b}', '\u{202E}', '\u{2066}', '\u{200B}', '\u{FEFF}',
        ] {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in ['a', ' ', 'é', '夜', 'א', '…', '\u{200D}'] {
            assert!(!is_hidden(character), "{character:?}");
        }
    }
}
