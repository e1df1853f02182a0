//! Formats text tables.

/// `rows` under `heads`, with columns as wide as their widest cell. Without rows, `none`.
pub(super) fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]], none: &str) -> String {
    if rows.is_empty() {
        return format!("{none}\n");
    }
    let heads = heads.map(str::to_owned);
    let lines = || std::iter::once(&heads).chain(rows);
    let widths: [usize; N] = std::array::from_fn(|column| {
        let widths = lines().map(|line| line[column].chars().count());
        widths.max().unwrap_or_default()
    });
    let mut text = String::new();
    for line in lines() {
        let cells = line.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// An RFC 3339 time without its fraction.
pub(super) fn short(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

/// The last part of an ARN.
pub(super) fn last_part(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".into(), "1".into()], ["long".into(), "2".into()]];

        let text = table(["NAME", "N"], &rows, "nothing");

        assert_eq!(text, "NAME  N\na     1\nlong  2\n");
    }

    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(table(["NAME"], &[], "no job is lost"), "no job is lost\n");
    }

    #[test]
    fn times_and_arns_are_short_for_people() {
        assert_eq!(short("2026-03-01T06:00:00.25Z"), "2026-03-01T06:00:00Z");
        assert_eq!(short("2026-03-01T06:00:00Z"), "2026-03-01T06:00:00Z");
        assert_eq!(last_part("arn:aws:ecs:eu-west-1:1:task/batch/4f0c"), "4f0c");
    }
}
