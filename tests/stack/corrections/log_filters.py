"""FilterLogEvents with patterns for JSON, in pages.

AWS: a pattern in braces selects lines of JSON by their properties. Here it may compare properties by `=` with a text in which
  `*` stands for any characters, join comparisons by `&&` and `||`, and group them by parentheses. Any other pattern in braces
  is refused.
  https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
AWS: an answer has some of the events, or none, and a nextToken if there is more to search.
  https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
ministack 1.5.33: returns every line for such a pattern, and has no pages. Here the first page for a pattern is empty.
"""
import fnmatch
import json
import re

from ministack.core.responses import error_response_json, json_response
from ministack.services import cloudwatch_logs

_PAGE = 100
_TOKEN = re.compile(r'\s*(?:(\(|\)|&&|\|\|)|\$\.([A-Za-z0-9_.-]+)\s*=\s*"([^"]*)")')
_stock_compile = cloudwatch_logs._compile_filter_pattern
_stock_filter = cloudwatch_logs._filter_log_events


class _Refused(ValueError):
    """The pattern is not supported here."""


def _tokens(text):
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if not match:
            raise _Refused(text[at:])
        found.append(match.group(1) or (match.group(2), match.group(3)))
        at = match.end()
    return found


def _holds(line, path, wanted):
    value = line
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return isinstance(value, str) and fnmatch.fnmatchcase(value, wanted.replace("[", "[[]").replace("?", "[?]"))


def _one(tokens):
    """Takes the tokens of a comparison or of a group, and returns its condition."""
    token = tokens.pop(0) if tokens else None
    if token == "(":
        inner = _joined(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise _Refused("a parenthesis is open")
        return inner
    if not isinstance(token, tuple):
        raise _Refused(token)
    return lambda line: _holds(line, *token)


def _joined(tokens):
    parts, words = [_one(tokens)], set()
    while tokens and tokens[0] in ("&&", "||"):
        words.add(tokens.pop(0))
        parts.append(_one(tokens))
    if len(words) > 1:
        raise _Refused("&& beside ||, without parentheses")
    join = any if words == {"||"} else all
    return lambda line: join(part(line) for part in parts)


def _compile(raw):
    text = (raw or "").strip()
    if not (text.startswith("{") and text.endswith("}")):
        return _stock_compile(raw)
    tokens = _tokens(text[1:-1])
    condition = _joined(tokens)
    if tokens:
        raise _Refused(tokens)

    def matches(message):
        try:
            line = json.loads(message)
        except ValueError:
            return False
        return condition(line)
    return matches


def _filter(data):
    try:
        _compile(data.get("filterPattern", ""))
    except _Refused as error:
        return error_response_json("InvalidParameterException", f"Invalid filter pattern: {error}", 400)
    status, headers, body = _stock_filter({**data, "limit": 10_000})
    if status != 200:
        return status, headers, body
    events = json.loads(body)["events"]
    token = data.get("nextToken")
    size = min(int(data.get("limit") or _PAGE), _PAGE) if token or not data.get("filterPattern") else 0
    begin = int(token or 0)
    more = {"nextToken": str(begin + size)} if begin + size < len(events) or size == 0 else {}
    return json_response({"events": events[begin:begin + size], "searchedLogStreams": [], **more})


def apply():
    cloudwatch_logs._compile_filter_pattern = _compile
    cloudwatch_logs._filter_log_events = _filter
