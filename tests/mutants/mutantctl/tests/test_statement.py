"""Tests the mutants without a statement, a list element or a filter, and those with a larger number."""
import unittest

from .. import statement
from ..source import Source
from ..tree import changed_lines

FILE = "f.rs"
CODE = """//! let x = 7; in a comment
const MOST: u32 = 8;

impl<S: Store<u8>> Port for Twin<S> {
    fn act(&mut self) -> Option<u32> {
        let text = "self.fake(5);";
        self.next.due = None;
        self.runs.extend(ends(|run| {
            run.seen = true;
            run.end
        }));
        check(text)?;
        tracing::info!("done");
        *self.count += 1;
        if let Some(gap) = self.gap.filter(|gap| *gap > 0) {
            self.log(vec![Clause::Readable, Clause::Lease(Box::new([1, 2])), Clause::Open]);
        }
        Some(self.last(vec![Clause::Alone], [a, b]))
    }
}

#[cfg(test)]
mod tests {
    fn act() { self.next.due = None; }
}
"""


def found(part):
    return [mutant for mutant in statement.mutants(FILE, CODE) if part in mutant.change]


def gone(mutant):
    """Returns the text that the mutant leaves out."""
    begin = next(at for at, (old, new) in enumerate(zip(CODE, mutant.text)) if old != new)
    return CODE[begin:begin + len(CODE) - len(mutant.text)]


class Kinds(unittest.TestCase):
    def test_assignments_and_calls_are_left_out_at_any_depth(self):
        self.assertEqual([mutant.change.removeprefix("without the statement ") for mutant in found("statement")], [
            "self.next.due = None;",
            "self.runs.extend(ends(|run| { run.seen = true; run.end }));",
            "run.seen = true;",
            "check(text)?;",
            "*self.count += 1;",
            "self.log(vec![Clause::Readable, Clause::Lease(Box::new([1, 2])), Clau…",
        ])
        self.assertNotIn("self.next.due = None;", found("self.next.due")[0].text.split("mod tests")[0])

    def test_each_element_of_a_list_of_several_is_left_out(self):
        texts = [mutant.text.splitlines()[15].strip() for mutant in found("element")]

        self.assertEqual(texts, ["self.log(vec![ Clause::Lease(Box::new([1, 2])), Clause::Open]);",
                                 "self.log(vec![Clause::Readable,  Clause::Open]);",
                                 "self.log(vec![Clause::Readable, Clause::Lease(Box::new([1, 2])), ]);"])

    def test_a_filter_is_left_out(self):
        self.assertIn("if let Some(gap) = self.gap {", found("filter")[0].text)

    def test_numbers_above_one_grow_but_not_in_strings(self):
        self.assertEqual([mutant.change for mutant in found("ten times")],
                         ["8 becomes ten times as large", "2 becomes ten times as large"])
        self.assertIn("const MOST: u32 = (10 * 8);", found("8 becomes")[0].text)

    def test_a_mutant_knows_its_function_and_its_lines(self):
        extend = found("self.runs.extend")[0]

        self.assertEqual((extend.scope, extend.lines), ("Twin::act", (8, 11)))
        self.assertTrue(extend.is_in({FILE: {10}}))
        self.assertFalse(extend.is_in({FILE: {12}}) or extend.is_in({"g.rs": {10}}))


class Sources(unittest.TestCase):
    def test_quotes_of_lifetimes_and_characters_open_no_string(self):
        code = "fn f<'a>(x: &'a str) { g('\"', b'{', '\\'', r#\"}\"#, \"}\"); }"

        self.assertEqual(Source(code).functions, [(code.index(") {") + 2, len(code) - 1, "f")])

    def test_a_scope_has_the_type_of_its_impl_without_generics(self):
        for header, name in (("", "f"), ("impl Lease", "Lease::f"), ("impl<'a> Draft<'a>", "Draft::f"),
                             ("impl<S: A<B<C>>, K> fmt::Debug for x::Deps<S, K> where S: A", "Deps::f")):
            code = f"{header} {{ fn f() {{ g(); }} }}"
            with self.subTest(header):
                self.assertEqual(Source(code).scope(code.index("g()")), name)


class Diffs(unittest.TestCase):
    def test_added_lines_and_the_lines_around_removed_ones_have_changed(self):
        diff = "+++ b/f.rs\n@@ -1 +1,2 @@\n+x\n+y\n@@ -9,2 +9,0 @@\n-z\n-z\n+++ b/g.rs\n@@ -3 +3 @@\n+x\n"

        self.assertEqual(changed_lines(diff), {"f.rs": {1, 2, 9, 10}, "g.rs": {3}})
