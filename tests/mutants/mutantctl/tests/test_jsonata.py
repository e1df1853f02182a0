"""Tests which elements of objects and lists inside expressions are found."""
import unittest

from ..jsonata import elements


def without_each(text):
    return [text[:begin] + text[end:] for begin, end in elements(text)]


class Elements(unittest.TestCase):
    def test_cases(self):
        cases = {
            "objects": ("{'a': 1, 'b': f(2, 3)}", ["{ 'b': f(2, 3)}", "{'a': 1}"]),
            "lists after a word": ("$x in ['a', 'b']", ["$x in [ 'b']", "$x in ['a']"]),
            "one inside another": ("[{'a': 1, 'b': 2}, c]", ["[ c]", "[{'a': 1, 'b': 2}]", "[{ 'b': 2}, c]", "[{'a': 1}, c]"]),
            "a list of one element stays": ("['a']", []),
            "a subscript is not a list": ("$x[a, b] & f(x)[0, 1] & {}[0, 1]", []),
            "arguments are not a list": ("$merge(a, b)", []),
            "a bracket in a string": ("['{', ',']", ["[ ',']", "['{']"]),
            "a quote in a string": (r"['\'', b]", ["[ b]", r"['\'']"]),
            "a bracket in a pattern": ("[$contains(v, /[,{]/), b]", ["[ b]", "[$contains(v, /[,{]/)]"]),
            "a slash that divides": ("[a / 2, b / 2]", ["[ b / 2]", "[a / 2]"]),
        }
        for name, (text, expected) in cases.items():
            with self.subTest(name):
                self.assertEqual(without_each(text), expected)
