#!/usr/bin/env python3
"""Tests of benches/report.py and of benches/lib/rows.py."""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import report  # noqa: E402
from lib import rows  # noqa: E402

RESULT = {
    "id": "requests", "title": "Speed", "date": "2026-11-24", "machine": "2 cores", "against": "bare & <small>",
    "note": "One after the other.",
    "rows": [
        {"figure": "first answer", "subject": "ours", "unit": "ms", "median": 1.5, "min": 1.0, "max": 2.25,
         "n": 20, "ratio": 1.5},
        {"figure": "first answer", "subject": "bare & <small>", "unit": "ms", "median": 1.0, "min": 0.9, "max": 1.1,
         "n": 20},
        {"figure": "requests", "subject": "ours", "unit": "", "median": 1234, "n": 1},
    ],
}


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.results = self.root / "benches/results"
        self.results.mkdir(parents=True)
        self.put("requests", RESULT)

    def put(self, name, result):
        (self.results / f"{name}.json").write_text(json.dumps(result))

    def report(self, *words):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = report.main(list(words), self.root)
        return status, errors.getvalue()

    def page(self, name="docs/performance.md"):
        return (self.root / name).read_text()


class Page(Repository):
    def test_a_figure_is_named_once_and_a_count_has_empty_cells(self):
        self.report()

        lines = self.page().splitlines()

        self.assertIn("| first answer | ours | 1.5 ms | 1 | 2.25 | 20 | 1.5 |", lines)
        self.assertIn("|  | bare & <small> | 1 ms | 0.9 | 1.1 | 20 |  |", lines)
        self.assertIn("| requests | ours | 1,234 |  |  | 1 |  |", lines)

    def test_a_section_tells_rival_date_and_machine_and_shows_its_chart(self):
        self.report()

        page = self.page()

        for part in ("## Speed", report.SUMMARIES["requests"], "2026-11-24: 2 cores. The ratio is to *bare & <small>*.",
                     "(images/bench-requests.svg)", "make bench"):
            self.assertIn(part, page)

    def test_the_methods_have_each_note_and_figure_that_the_page_leaves_out(self):
        self.put("speed", RESULT | {"id": "speed", "title": "Another"})

        self.report()

        methods = self.page("benches/README.md")
        self.assertEqual(methods.count("One after the other."), 2)
        self.assertNotIn("bench-requests.svg", methods)
        self.assertIn("(../docs/images/bench-speed.svg)", methods)
        self.assertIn("| first answer | ours | 1.5 ms | 1 | 2.25 | 20 | 1.5 |", methods)
        self.assertNotIn("## Another", self.page())

    def test_sections_come_in_the_order_of_the_summaries(self):
        self.put("cost", RESULT | {"id": "cost", "title": "Dollars"})

        self.report()

        self.assertLess(self.page().index("## Dollars"), self.page().index("## Speed"))

    def test_every_summary_has_a_result(self):
        self.assertLessEqual(set(report.SUMMARIES), {path.stem for path in (report.ROOT / "benches/results").glob("*.json")})


class Check(Repository):
    def test_the_check_passes_after_a_write(self):
        self.report()

        self.assertEqual(self.report("--check"), (0, ""))

    def test_a_changed_page_a_changed_result_and_a_left_over_chart_are_named(self):
        edits = {
            "docs/performance.md": lambda: (self.root / "docs/performance.md").write_text("by hand"),
            "benches/README.md": lambda: (self.root / "benches/README.md").write_text("by hand"),
            "docs/images/bench-requests.svg": lambda: (self.root / "docs/images/bench-requests.svg").unlink(),
            "docs/images/bench-old.svg": lambda: (self.root / "docs/images/bench-old.svg").write_text("<svg/>"),
        }
        for name, edit in edits.items():
            self.report()
            edit()

            status, errors = self.report("--check")

            self.assertEqual(status, 1)
            self.assertIn(f"{name} is not", errors)

    def test_a_report_removes_the_chart_of_a_result_that_is_gone(self):
        self.report()
        (self.results / "requests.json").unlink()

        self.report()

        self.assertEqual(list((self.root / "docs/images").iterdir()), [])

    def test_the_error_of_a_result_names_the_fault(self):
        row = {name: value for name, value in RESULT["rows"][0].items() if name != "median"}
        cases = {"lacks machine": {name: value for name, value in RESULT.items() if name != "machine"},
                 "row 0 lacks median": RESULT | {"rows": [row]}, "must be requests": RESULT | {"id": "fast"}}
        for expected, result in cases.items():
            self.put("requests", result)

            status, errors = self.report()

            self.assertEqual(status, 1)
            self.assertIn(expected, errors)


class Chart(Repository):
    def svg(self, result):
        return report.chart(result, report.charted(result))

    def test_a_chart_is_xml_with_text_and_loads_nothing(self):
        svg = self.svg(RESULT)

        words = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]

        self.assertIn("bare & <small>", words)
        self.assertIn("1.5 ms", words)
        for foreign in ("href", "url(", "@import", "<script", "<image"):
            self.assertNotIn(foreign, svg)
        self.assertIn("prefers-color-scheme: dark", svg)

    def test_the_longest_bar_and_its_range_stay_inside(self):
        root = ElementTree.fromstring(self.svg(RESULT))

        ends = [float(line.get("x2")) for line in root.iter("{http://www.w3.org/2000/svg}line")]

        self.assertAlmostEqual(max(ends), report.chart.__globals__["BAR_END"])

    def test_a_chart_has_the_figures_it_names_or_the_first_that_fit(self):
        many = [{"figure": f"f{number // 20}", "subject": "s", "unit": "", "median": 1, "n": 1} for number in range(60)]

        self.assertEqual(report.charted({"rows": many}), ["f0"])
        self.assertEqual(report.charted(RESULT), ["first answer", "requests"])
        self.assertEqual(report.charted(RESULT | {"chart": ["requests"]}), ["requests"])


class Rows(unittest.TestCase):
    def test_a_row_has_median_range_count_and_the_ratio_to_the_rival(self):
        samples = rows.Samples()
        for ours, bare in ((3.0, 1.0), (2.0, 1.0), (4.0, 1.5)):
            samples.add("call", "ours", "ms", ours)
            samples.add("call", "bare", "ms", bare)

        ours, bare = samples.rows("bare")

        self.assertEqual(ours, {"figure": "call", "subject": "ours", "unit": "ms",
                                "median": 3.0, "min": 2.0, "max": 4.0, "n": 3, "ratio": 3.0})
        self.assertNotIn("ratio", bare)

    def test_an_exact_count_has_no_range(self):
        samples = rows.Samples()
        samples.add("crates", "ours", "", 151)

        self.assertEqual(samples.rows(), [{"figure": "crates", "subject": "ours", "unit": "", "median": 151, "n": 1}])

    def test_three_digits_are_kept(self):
        kept = [rows.rounded(value) for value in (0.12345, 12.345, 123.4, 1234.6, 7)]

        self.assertEqual(kept, [0.123, 12.3, 123, 1235, 7])


if __name__ == "__main__":
    unittest.main()
