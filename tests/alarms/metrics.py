"""Makes metric data as CloudWatch does, and evaluates alarms on these data.

The emulator makes no metrics of log lines. So this module reads the lines in the embedded metric format, and applies the metric
filters of the stack. The faults of prove.py make the metrics that AWS itself counts: AWS_METRICS.
"""
import json
import re
from dataclasses import dataclass

from probes.support import client

# The metrics that AWS counts and the emulator does not, with their documented dimensions.
# https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
AWS_METRICS = {
    ("AWS/Lambda", "Errors"): [{"FunctionName"}],
    ("AWS/Lambda", "Throttles"): [{"FunctionName"}],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
    ("AWS/DynamoDB", "ReadThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
}
COMPARES = {
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
STATISTICS = {"Sum": sum, "Maximum": max}


@dataclass(frozen=True)
class Datum:
    """One value of a metric, and its source."""
    namespace: str
    name: str
    dimensions: tuple
    value: float
    origin: str


def datum(namespace, name, dimensions, value, origin):
    return Datum(namespace, name, tuple(sorted(dimensions.items())), float(value), origin)


def aws(namespace, name, dimensions, value, origin):
    """Returns a value that AWS would count. Fails for a metric or a dimension that AWS does not have."""
    known = AWS_METRICS[namespace, name]
    assert set(dimensions) in known, f"{namespace} {name} has the dimensions {known}, not {set(dimensions)}"
    return datum(namespace, name, dimensions, value, f"mock of AWS: {origin}")


def lines(group, since):
    """Returns the lines that a log group received since a time in milliseconds."""
    pages = client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
    events = [event for page in pages for event in page["events"] if event["timestamp"] >= since]
    return [event["message"] for event in events]


def log_groups():
    """Returns the names of the log groups of the functions and of the events."""
    found = client("logs").describe_log_groups()["logGroups"]
    return [one["logGroupName"] for one in found if one["logGroupName"].startswith("/aws/")]


def parsed(line):
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def embedded(since):
    """Yields the values of lines in the embedded metric format."""
    for group in log_groups():
        for line in map(parsed, lines(group, since)):
            for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
                for names in directive["Dimensions"]:
                    for metric in directive["Metrics"]:
                        yield datum(directive["Namespace"], metric["Name"], {name: line[name] for name in names},
                                    line[metric["Name"]], f"line in {group}")


def matches(pattern, line):
    """Returns whether a line matches the pattern of a metric filter. Knows alternatives of terms, and of fields of JSON.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
    """
    if not pattern.startswith("{"):
        terms = re.findall(r'\?"([^"]+)"', pattern)
        assert " ".join(f'?"{term}"' for term in terms) == pattern, pattern
        return any(term in line for term in terms)
    choices = re.findall(r'\(\$\.([\w-]+) = "([^"]+)"\)', pattern)
    assert "{ " + " || ".join(f'($.{field} = "{text}")' for field, text in choices) + " }" == pattern, pattern
    event = parsed(line)
    return any(event.get(field) == text for field, text in choices)


def filtered(since, more=None, mentioning=""):
    """Yields the values that the metric filters of the stack extract from log lines that contain `mentioning`.

    `more` has lines by log group that AWS would write in addition.
    """
    for one in client("logs").describe_metric_filters()["metricFilters"]:
        group = one["logGroupName"]
        own = [(line, f"line in {group}") for line in lines(group, since) if mentioning in line]
        mocked = [(line, f"mock of AWS: line in {group}") for line in (more or {}).get(group, [])]
        for line, origin in own + mocked:
            if not matches(one["filterPattern"], line):
                continue
            for to in one["metricTransformations"]:
                dimensions = {key: parsed(line)[path.removeprefix("$.")] for key, path in to.get("dimensions", {}).items()}
                yield datum(to["metricNamespace"], to["metricName"], dimensions, to["metricValue"], origin)


def of(alarm, data):
    """Returns the data that an alarm watches."""
    dimensions = tuple(sorted((one["Name"], one["Value"]) for one in alarm["Dimensions"]))
    key = (alarm["Namespace"], alarm["MetricName"], dimensions)
    return [one for one in data if (one.namespace, one.name, one.dimensions) == key]


def raised(alarm, data):
    """Returns whether a period with these data breaches the alarm's threshold."""
    own = of(alarm, data)
    if not own:
        return alarm["TreatMissingData"] == "breaching"
    value = STATISTICS[alarm["Statistic"]](one.value for one in own)
    return COMPARES[alarm["ComparisonOperator"]](value, alarm["Threshold"])
