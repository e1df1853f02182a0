"""Records which branches of the conditions `a ? b : c` in expressions were taken."""
import jsonata


class Branches:
    """Records each branch that a condition takes inside a `with` block: {(expression, place, whether the condition held)}."""

    def __init__(self):
        self.taken, self.text, self._ways = set(), None, {}
        self._stock = jsonata.Jsonata.evaluate_condition

    def __enter__(self):
        def condition(engine, symbol, value, frame):
            held = jsonata.Jsonata.boolize(engine.eval(symbol.condition, value, frame))
            self.taken.add((self.text, symbol.position, bool(held)))
            way = symbol.then if held else symbol._else
            return None if way is None else engine.eval(way, value, frame)

        jsonata.Jsonata.evaluate_condition = condition
        return self

    def __exit__(self, *_):
        jsonata.Jsonata.evaluate_condition = self._stock

    def left(self, text):
        """Returns a text for each branch of the expression that was never taken."""
        source = text[2:-2].strip()
        if text not in self._ways:
            places = {symbol.position for symbol in _conditions(jsonata.Jsonata.jsonata(source).ast, set())}
            self._ways[text] = [(place, held) for place in sorted(places) for held in (False, True)]
        return [f"the condition before {source[place - 1:place + 40]!r} was never {str(held).lower()}"
                for place, held in self._ways[text] if (text, place, held) not in self.taken]


def _conditions(node, known):
    if isinstance(node, (list, tuple)):
        return [found for item in node for found in _conditions(item, known)]
    if not hasattr(node, "__dict__") or id(node) in known:
        return []
    known.add(id(node))
    own = [node] if getattr(node, "type", None) == "condition" else []
    # Symbols refer to the parser itself, which is left out.
    fields = [value for name, value in vars(node).items() if name not in ("_outer_instance", "seeking_parent", "ancestor")]
    return own + _conditions(fields, known)
