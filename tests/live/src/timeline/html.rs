//! The timeline as one HTML page that loads no other file.

use super::layout::Row;
use super::svg::{self, escape};
use super::verdict::Summary;
use super::{Scene, Timeline};
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark }
body { margin: 0 auto; padding: 24px 16px; max-width: 1152px; background: #ffffff; color: #17202c;
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
svg { width: 100%; height: auto; border: 1px solid #d9dee6; border-radius: 8px }
table { border-collapse: collapse; margin-top: 24px; width: 100% }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid #d9dee6 }
td:first-child { font-weight: 600 } td { overflow-wrap: anywhere }
pre { margin: 0; white-space: pre-wrap; font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace }
table + pre { margin-top: 24px } summary { cursor: pointer }
@media (prefers-color-scheme: dark) { body { background: #0e131a; color: #e8edf4 }
  svg, th, td { border-color: #2b3543 } }
";

/// Draws the page.
pub fn render(timeline: &Timeline) -> String {
    let mut rows = String::new();
    for scene in Scene::ALL {
        for execution in timeline.of_scene(scene) {
            let row = Row::of(timeline, execution);
            let (name, note) = (escape(&row.name), escape(&row.note));
            let details = escape(&row.details[1..].join("\n"));
            let _ = writeln!(
                rows,
                "<tr><td>{name}</td><td>{}</td><td><details><summary>{note}</summary>\
                 <pre>{details}</pre></details></td></tr>",
                escape(scene.title())
            );
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}\
         <table>\n<tr><th>execution</th><th>scene</th><th>what became of it</th></tr>\n{rows}</table>\n\
         <pre>\n{}\n</pre>\n</body>\n</html>\n",
        escape(&svg::headline(timeline)),
        svg::render(timeline),
        Summary::of(timeline)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::sample::sample;

    #[test]
    fn the_page_holds_the_picture_all_details_and_the_figures() {
        let timeline = sample();
        let page = render(&timeline);

        assert_eq!(page.matches("<svg ").count(), 1);
        assert_eq!(page.matches("<details>").count(), timeline.executions.len());
        assert!(page.contains("overlaps: 0"));
        assert!(page.contains(&timeline.executions[0].arn));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = render(&sample());

        for address in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!page.contains(address), "{address}");
        }
    }
}
