//! The timeline as one SVG picture, without a script, a font or an address outside of it.

use super::layout::{Row, Scale};
use super::verdict::Summary;
use super::{Scene, Timeline};
use crate::stack::Run;
use std::fmt::Write as _;

mod row;
mod theme;
use row::Picture;
pub use theme::{STYLE, escape};

const WIDTH: f64 = 1120.0;
/// The left end of the chart. The names are left of it.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
/// Where the first scene begins. The title and the axis are above it.
const TOP: f64 = 104.0;
const ROW: f64 = 22.0;
/// The height of a scene's title.
const TITLE: f64 = 26.0;
/// The space between two scenes.
const GAP: f64 = 8.0;
/// The height of everything below the scenes: the lane of the containers, and the legend.
const BOTTOM: f64 = 136.0;
/// The width of an average letter of a note.
const LETTER: f64 = 6.3;

/// Draws the timeline.
pub fn render(timeline: &Timeline) -> String {
    let rows = timeline.executions.len() as f64;
    let scenes = Scene::ALL.len() as f64;
    let height = TOP + rows * ROW + scenes * (TITLE + GAP) + BOTTOM;
    let mut picture = Picture {
        scale: Scale::new(timeline, WIDTH - LEFT - RIGHT),
        ground: String::new(),
        body: String::new(),
        y: TOP,
    };
    picture.head(timeline);
    picture.axis(height);
    for scene in Scene::ALL {
        picture.scene(timeline, scene);
    }
    picture.lane(timeline);
    picture.legend();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n\
         <style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}{}</svg>\n",
        escape(&headline(timeline)),
        picture.ground,
        picture.body
    )
}

/// Says in a sentence what the picture shows.
pub fn headline(timeline: &Timeline) -> String {
    let sum = Summary::of(timeline);
    let (executions, runs, overlaps) = (sum.executions, sum.runs, sum.overlaps);
    format!("{executions} executions on one lock: {runs} runs, {overlaps} overlaps")
}

/// Returns the figures that are not in the headline.
pub fn subline(timeline: &Timeline) -> String {
    let sum = Summary::of(timeline);
    let grow = if sum.tokens_grow {
        "grow"
    } else {
        "DO NOT GROW"
    };
    format!(
        "{} skipped, {} duplicate, {} failed, {} of them recovered, {} waited in the queue; \
         lease {} s, {} renewals; fencing tokens {grow}",
        sum.skipped,
        sum.duplicates,
        sum.failed,
        sum.recovered,
        sum.waited,
        timeline.lease_seconds,
        sum.renewals
    )
}

impl Picture {
    fn head(&mut self, timeline: &Timeline) {
        self.words("headline", 24.0, 36.0, &headline(timeline));
        self.words("subline", 24.0, 58.0, &subline(timeline));
    }

    fn axis(&mut self, height: f64) {
        let marks: Vec<_> = self.scale.marks().collect();
        for (second, place) in marks {
            let (x, bottom) = (LEFT + place, height - BOTTOM + 46.0);
            self.words("second", x, TOP - 10.0, &format!("{second} s"));
            self.put(&format!(
                r#"<path class="grid" d="M{x:.1} {:.1}V{bottom:.1}"/>"#,
                TOP - 4.0
            ));
        }
    }

    fn scene(&mut self, timeline: &Timeline, scene: Scene) {
        let rows: Vec<_> = timeline
            .of_scene(scene)
            .map(|execution| Row::of(timeline, execution))
            .collect();
        let height = TITLE + rows.len() as f64 * ROW + GAP / 2.0;
        let (y, width) = (self.y, WIDTH - 24.0);
        let _ = writeln!(
            self.ground,
            r#"<rect class="scene" x="12" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="6"/>"#
        );
        let (letter, title) = (scene.letter().to_string(), scene.title());
        self.words("letter", 24.0, self.y + 18.0, &letter);
        self.words("title", 42.0, self.y + 18.0, title);
        self.y += TITLE;
        for row in rows {
            self.row(&row);
            self.y += ROW;
        }
        self.y += GAP;
    }

    fn lane(&mut self, timeline: &Timeline) {
        self.words(
            "title",
            24.0,
            self.y + 18.0,
            "what the containers themselves recorded",
        );
        for container in &timeline.containers {
            let stopped = container.end.unwrap_or(timeline.end());
            let title = escape(&lane_title(timeline, container));
            self.put(&format!("<g><title>{title}</title>"));
            self.bar(
                "work container",
                (container.start, stopped),
                self.y + 26.0,
                12.0,
            );
            self.put("</g>");
        }
        self.y += 46.0;
    }

    fn legend(&mut self) {
        let y = self.y + 34.0;
        let (mut x, mut y) = (24.0, y);
        for (class, shape, words) in theme::LEGEND {
            let width = 24.0 + words.chars().count() as f64 * LETTER;
            if x + width > WIDTH {
                (x, y) = (24.0, y + 24.0);
            }
            let _ = writeln!(
                self.body,
                r#"<path class="{class}" transform="translate({:.1} {:.1})" d="{shape}"/>"#,
                x + 8.0,
                y - 4.0 + theme::lift(shape)
            );
            self.words("note", x + 24.0, y, words);
            x += width + 22.0;
        }
    }
}

fn lane_title(timeline: &Timeline, container: &Run) -> String {
    let name = timeline.name_of(container.holder());
    let end = match (container.sigterm, container.end) {
        (Some(_), _) => "SIGTERM",
        (_, Some(_)) => "work done",
        (_, None) => "end unknown",
    };
    format!(
        "container {} of {name}, token {}, {end}",
        container.id,
        container.token()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::sample::sample;

    #[test]
    fn every_execution_has_a_row_and_every_container_a_bar_in_the_lane() {
        let timeline = sample();
        let svg = render(&timeline);

        assert_eq!(
            svg.matches("<g class=\"row\">").count(),
            timeline.executions.len()
        );
        assert_eq!(
            svg.matches("work container").count(),
            timeline.containers.len()
        );
        assert_eq!(
            svg.matches("class=\"renewal\"").count(),
            2 + 1,
            "the legend has one"
        );
        assert!(svg.contains("12 executions on one lock: 9 runs, 0 overlaps"));
    }

    #[test]
    fn elements_are_closed_and_nothing_points_outside() {
        let svg = render(&sample());

        for tag in ["g", "text", "title", "style", "svg"] {
            let opened =
                svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert_eq!(
            svg.matches("http").count(),
            1,
            "only the name of the format"
        );
    }

    #[test]
    fn words_from_outside_cannot_end_an_element() {
        let mut timeline = sample();
        timeline.executions[0].name = "<script>".into();

        let svg = render(&timeline);

        assert!(!svg.contains("<script>"));
        assert!(svg.contains("&lt;script&gt;"));
    }
}
