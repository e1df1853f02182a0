"""How long a Retry waits.

AWS: MaxDelaySeconds bounds the growing interval and JitterStrategy FULL draws it at random
  from zero up. https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
ministack 1.5.33: ignores both.
"""
import random

from ministack.services import stepfunctions as sfn

_stock_find = sfn._find_matching_retrier
_ONE_YEAR = 31_622_400


def _find_matching_retrier(retriers, error, counts):
    retrier, index = _stock_find(retriers, error, counts)
    if retrier is None:
        return retrier, index
    delay = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** counts.get(index, 0)
    delay = min(delay, retrier.get("MaxDelaySeconds", _ONE_YEAR))
    if retrier.get("JitterStrategy") == "FULL":
        delay = random.uniform(0, delay)
    return {**retrier, "IntervalSeconds": delay, "BackoffRate": 1.0}, index


def apply():
    sfn._find_matching_retrier = _find_matching_retrier
