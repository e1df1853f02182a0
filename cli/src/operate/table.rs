//! Formats text tables.

use super::screen::{Screen, Tone, options};
use textwrap::core::display_width;
use textwrap::wrap;

/// The text between two columns.
const GAP: &str = "  ";

/// The text of a cell that has nothing to show.
pub(super) const NOTHING: &str = "-";

/// A cell: its text, and its tone.
pub(crate) type Cell = (String, Tone);

/// Formats `rows` under `heads`, with columns as wide as their widest cell; without rows, returns the line
/// `none`.
///
/// A column that shows nothing in any row is left out. If a line would be wider than the screen, the cells of
/// the widest columns are wrapped.
pub(crate) fn table<const N: usize>(
    screen: &Screen,
    heads: [&str; N],
    rows: &[[Cell; N]],
    none: &str,
) -> String {
    if rows.is_empty() {
        return format!("{none}\n");
    }
    let is_shown = |column: &usize| rows.iter().any(|row| row[*column].0 != NOTHING);
    let shown: Vec<usize> = (0..N).filter(is_shown).collect();
    let head = shown
        .iter()
        .map(|column| (heads[*column].to_owned(), Tone::Plain));
    let body = rows
        .iter()
        .map(|row| shown.iter().map(|column| row[*column].clone()).collect());
    let lines: Vec<Vec<Cell>> = std::iter::once(head.collect()).chain(body).collect();
    let widths = widths(&lines, screen.width());
    let text = lines.iter().map(|cells| row(screen, cells, &widths));
    text.collect()
}

/// Returns cells without colours.
pub(crate) fn plain<const N: usize>(rows: Vec<[String; N]>) -> Vec<[Cell; N]> {
    let rows = rows.into_iter();
    rows.map(|row| row.map(|text| (text, Tone::Plain)))
        .collect()
}

/// Returns the widths of the columns. Each column is as wide as its widest cell; while a line is wider than
/// `most`, the widest column gets narrower.
fn widths(lines: &[Vec<Cell>], most: Option<usize>) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let widest = |column: usize| {
        lines
            .iter()
            .map(|line| display_width(&line[column].0))
            .max()
    };
    let mut widths: Vec<usize> = (0..columns).filter_map(widest).collect();
    let gaps = GAP.len() * columns.saturating_sub(1);
    while most.is_some_and(|most| widths.iter().sum::<usize>() + gaps > most) {
        match widths.iter_mut().max() {
            Some(widest) if *widest > 1 => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// Formats one row, which has several lines if a cell is wrapped.
fn row(screen: &Screen, cells: &[Cell], widths: &[usize]) -> String {
    let cells: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|((text, tone), width)| {
            let parts = wrap(text, options(*width));
            let padded = parts.iter().map(|part| {
                let padding = width.saturating_sub(display_width(part));
                format!("{}{}", screen.painted(*tone, part), " ".repeat(padding))
            });
            padded.collect()
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let lines = (0..height).map(|line| {
        let parts: Vec<_> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| {
                cell.get(line)
                    .cloned()
                    .unwrap_or_else(|| " ".repeat(*width))
            })
            .collect();
        format!("{}\n", parts.join(GAP).trim_end())
    });
    lines.collect()
}

/// Returns the part of an ARN after its last slash.
pub(super) fn last_part(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<const N: usize>(width: Option<usize>, heads: [&str; N], rows: &[[&str; N]]) -> String {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| row.map(|text| (text.to_owned(), Tone::Plain)))
            .collect();
        let screen = Screen::plain(width, "2026-03-01T06:00:00Z");
        table(&screen, heads, &rows, "nothing")
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1"], ["long", "2"]];

        assert_eq!(
            shown(None, ["NAME", "N"], &rows),
            "NAME  N\na     1\nlong  2\n"
        );
        assert_eq!(shown(None, ["NAME"], &[]), "nothing\n");
    }

    #[test]
    fn a_column_that_shows_nothing_is_left_out() {
        let rows = [["a", "-", "1"], ["b", "-", "-"]];

        assert_eq!(
            shown(None, ["NAME", "NOTE", "N"], &rows),
            "NAME  N\na     1\nb     -\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_text_is_lost() {
        let name = "n".repeat(70);
        let rows = [[name.as_str(), "why it is so and not otherwise", "1"]];

        let narrow = shown(Some(40), ["NAME", "WHY", "N"], &rows);
        let wide = shown(None, ["NAME", "WHY", "N"], &rows);

        for line in narrow.lines() {
            assert!(display_width(line) <= 40, "{line}");
        }
        assert_eq!(narrow.matches('n').count(), wide.matches('n').count());
        assert_eq!(wide.lines().count(), 2);
    }

    #[test]
    fn the_last_part_of_an_arn_is_behind_its_last_slash() {
        assert_eq!(last_part("arn:aws:ecs:eu-west-1:1:task/batch/4f0c"), "4f0c");
    }
}
