"""Draws medians as bars in SVG: text stays text, colours follow the browser's light or dark scheme, and nothing is loaded."""
from xml.sax.saxutils import escape

WIDTH, LABEL, BAR_END, ROW, PANEL = 800, 330, 690, 22, 40
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1b2733 }
.figure { font-weight: 600 }
.bar { fill: #2f6fb3 }
.against { fill: #8a97a5 }
.range { stroke: #1b2733; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #dbe4ee }
.bar { fill: #5b9be0 }
.against { fill: #75818e }
.range { stroke: #dbe4ee }
}
</style>"""


def chart(result, figures):
    """Returns the SVG: a panel for each figure, with a scale of its own from 0. A line on a bar reaches from min to max."""
    parts, y = [], 10
    for figure in figures:
        rows = [row for row in result["rows"] if row["figure"] == figure]
        parts.append(text(0, y + 18, figure, "figure"))
        parts += panel(rows, y + 28, result.get("against"))
        y += PANEL + ROW * len(rows)
    title = escape(f"{result['title']}: medians")
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{title}</title>'
    return "\n".join([head, STYLE, *parts, "</svg>", ""])


def panel(rows, top, against):
    most = max((row.get("max", row["median"]) for row in rows), default=0) or 1
    scale = (BAR_END - LABEL) / most
    parts = []
    for number, row in enumerate(rows):
        y = top + number * ROW
        end = LABEL + row["median"] * scale
        kind = "against" if row["subject"] == against else "bar"
        parts.append(text(LABEL - 8, y + 15, row["subject"], anchor="end"))
        size = f'width="{max(end - LABEL, 1):.1f}" height="{ROW - 7}"'
        parts.append(f'<rect class="{kind}" x="{LABEL}" y="{y + 3}" {size}/>')
        if "min" in row:
            low, high = LABEL + row["min"] * scale, LABEL + row["max"] * scale
            parts.append(f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 10.5}" y2="{y + 10.5}"/>')
            end = max(end, high)
        value = f"{row['median']:,} {row['unit']}".rstrip()
        parts.append(text(f"{end + 6:.1f}", y + 15, value))
    return parts


def text(x, y, words, kind=None, anchor=None):
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{kind}{anchor}>{escape(words)}</text>'
