//! Formats lengths of time, counts and names for people.

/// Formats a length of time in its two largest units, such as 1h20m. It has at most seven characters below a
/// thousand days.
pub(super) fn short(seconds: f64) -> String {
    let whole = whole(seconds);
    let pair = |large: u64, small: u64, [a, b]: [char; 2]| {
        let (first, second) = (whole / large, whole % large / small);
        match second {
            0 => format!("{first}{a}"),
            _ => format!("{first}{a}{second}{b}"),
        }
    };
    match whole {
        0 if seconds > 0.0 => format!("{}ms", whole_millis(seconds)),
        0..=59 => format!("{whole}s"),
        60..=3_599 => pair(60, 1, ['m', 's']),
        3_600..=86_399 => pair(3_600, 60, ['h', 'm']),
        _ => pair(86_400, 3_600, ['d', 'h']),
    }
}

fn whole(seconds: f64) -> u64 {
    seconds as u64
}

fn whole_millis(seconds: f64) -> u64 {
    whole((seconds * 1_000.0).round()).max(1)
}

/// Returns `count` with its noun, such as "1 run" or "2 runs".
pub(super) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Cuts `text` to at most `most` columns; an ellipsis replaces the part that is cut. A character that is not
/// ASCII counts as two columns, the width of a wide character.
pub(super) fn fitted(text: &str, most: usize) -> String {
    let width = |c: char| if c.is_ascii() { 1 } else { 2 };
    if text.chars().map(width).sum::<usize>() <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(width('…'));
    let fits = |c: &char| match left.checked_sub(width(*c)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_its_two_largest_units() {
        for (seconds, expected) in [
            (0.0, "0s"),
            (0.000_1, "1ms"),
            (0.35, "350ms"),
            (59.9, "59s"),
            (60.0, "1m"),
            (750.0, "12m30s"),
            (4_800.0, "1h20m"),
            (86_400.0, "1d"),
            (31_546_800.0, "365d3h"),
        ] {
            assert_eq!(short(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn a_name_is_cut_to_the_columns_that_it_has() {
        for (text, most, expected) in [
            ("nightly", 7, "nightly"),
            ("nightly-report", 8, "nightl…"),
            ("夜間バッチ", 10, "夜間バッチ"),
            ("夜間バッチ処理", 10, "夜間バッ…"),
            ("", 5, ""),
        ] {
            assert_eq!(fitted(text, most), expected);
        }
    }
}
