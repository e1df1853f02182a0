//! Colours and shapes, for light and for dark pages.

use crate::timeline::layout::Kind;

/// The style sheet. A browser uses the dark half if the reader's setting asks for it. Other viewers
/// show the light half.
pub const STYLE: &str = "
svg { font-family: system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
.paper { fill: #ffffff } .scene { fill: #f3f5f8 } .grid { stroke: #d9dee6; fill: none }
.span { stroke: #9aa6b6; fill: none }
.headline { font-size: 22px; font-weight: 600; fill: #17202c } .subline { font-size: 13px; fill: #566273 }
.second { font-size: 11px; fill: #566273; text-anchor: middle }
.letter { font-size: 13px; font-weight: 700; fill: #3a6fc4 } .title { font-size: 13px; font-weight: 600; fill: #17202c }
.name { font-size: 11px; fill: #566273; text-anchor: end; font-variant-numeric: tabular-nums }
.note { font-size: 12px; fill: #3d4857 } .left { text-anchor: end }
.hit { fill: #000000; fill-opacity: 0 } .row:hover .hit { fill-opacity: .05 }
.held { fill-opacity: .28 } .good { fill: #23915a } .bad { fill: #d0393e } .skip { fill: #b87a06 } .twin { fill: #8058c8 }
.container { fill: #3a6fc4; fill-opacity: .85 }
.renewal { stroke: #0a3d24; stroke-width: 1.75; fill: none }
.end { stroke: #f3f5f8; stroke-width: 1.5 } .sigterm { fill: #d0393e; stroke: #ffffff }
.evicted { fill: #ffffff; stroke: #d0393e; stroke-width: 1.5 }
.wait { fill: #b87a06; fill-opacity: .16; stroke: #b87a06; stroke-dasharray: 3 2 }
.killed { fill: #17202c; stroke: #ffffff } .recovered { fill: #3a6fc4; stroke: #ffffff }
@media (prefers-color-scheme: dark) {
.paper { fill: #0e131a } .scene { fill: #171e28 } .grid { stroke: #2b3543 } .span { stroke: #5c6a7d }
.headline, .title { fill: #e8edf4 } .subline, .second, .name { fill: #98a5b7 } .note { fill: #c3ccd9 }
.letter { fill: #7fabf2 } .container { fill: #5b90e6 } .row:hover .hit { fill: #ffffff; fill-opacity: .07 }
.good { fill: #3fbf7f } .bad { fill: #f26a6c } .skip { fill: #e2a73a } .twin { fill: #aa8cee }
.renewal { stroke: #f0fff7 } .end { stroke: #171e28 } .sigterm { fill: #f26a6c; stroke: #0e131a }
.evicted { fill: #0e131a; stroke: #f26a6c }
.wait { fill: #e2a73a; stroke: #e2a73a }
.killed { fill: #e8edf4; stroke: #0e131a } .recovered { fill: #7fabf2; stroke: #0e131a }
}
";

/// A renewal, across the bar.
pub(super) const TICK: &str = "M0 -8V8";
/// An eviction or a signal, from above.
pub(super) const DOWN: &str = "M-6 -10H6L0 0Z";
/// A recovery, from below.
pub(super) const UP: &str = "M-6 10H6L0 0Z";
const DOT: &str = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z";
const CROSS: &str = "M-6 -3L-3 -6L0 -3L3 -6L6 -3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0Z";
const RING: &str = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0ZM-2 0a2 2 0 1 1 4 0a2 2 0 1 1 -4 0Z";
const DIAMOND: &str = "M0 -6L6 0L0 6L-6 0Z";
const BAR: &str = "M-8 -5H8V5H-8Z";

/// The class, the shape and the words of each sign in the picture.
pub(super) const LEGEND: [(&str, &str, &str); 13] = [
    ("span", "M-8 0H8", "execution"),
    ("work good", BAR, "container works"),
    ("held good", BAR, "lock held"),
    ("wait", BAR, "waits in the queue"),
    ("renewal", TICK, "renewal"),
    ("end good", DOT, "succeeded"),
    ("end bad", CROSS, "failed"),
    ("evicted", DOWN, "evicted"),
    ("killed", DOWN, "killed"),
    ("sigterm", DOWN, "SIGTERM"),
    ("recovered", UP, "recovered"),
    ("end skip", RING, "skipped"),
    ("end twin", DIAMOND, "duplicate"),
];

/// Returns how far down a shape has to move until its middle is where its tip was.
pub(super) fn lift(shape: &str) -> f64 {
    match shape {
        DOWN => 5.0,
        UP => -5.0,
        _ => 0.0,
    }
}

/// Returns the shape at the end of a row.
pub(super) const fn end_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Succeeded => DOT,
        Kind::Failed => CROSS,
        Kind::Skipped => RING,
        Kind::Duplicate => DIAMOND,
    }
}

/// Returns `text` as it may be in an element or an attribute.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
