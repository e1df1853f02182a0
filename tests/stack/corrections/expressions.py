"""JSONata expressions.

AWS: evaluating an expression may take up to a second.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
ministack 1.5.33: takes that by the clock, so that on a busy machine an expression fails which
  only waited for its turn. Here it may take 30 s; no probe, since it shows under load alone. It
  also makes a parser for each thread, which costs more than to parse; here threads take turns.
"""
import collections

import jsonata

_stock = jsonata.Jsonata.jsonata
_MILLIS = 30_000
_parsers = collections.deque()
_of_thread = jsonata.Jsonata.PARSER


def _parse(expression, timeout=None, **named):
    try:
        _of_thread.parser = _parsers.pop()
    except IndexError:
        pass  # this thread makes one
    try:
        return _stock(expression, timeout=timeout and _MILLIS, **named)
    finally:
        _parsers.append(_of_thread.parser)
        del _of_thread.parser


def apply():
    jsonata.Jsonata.jsonata = staticmethod(_parse)
