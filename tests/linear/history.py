"""Reads histories of clients on locks from JSON lines.

The first line describes the locks: `{"locks": {NAME: PERMITS}, "leaseMillis": 3000, "skewMillis": 1000}`, where
`leaseMillis` is the length of every lease and `skewMillis` the largest difference of a clock from the true time. Each
further line is one operation of a client:

| field | meaning |
|---|---|
| `op` | the number of the operation |
| `lock`, `holder` | the lock that it asks for, and the holder that asks |
| `call` | `acquire`, `heartbeat` or `release` |
| `queue` | for an acquire: whether it waits in the queue of a full lock |
| `waitUntil` | for an acquire that waits: the end of its patience, in milliseconds by the client's clock |
| `token` | for a heartbeat and a release: the fencing token in the request |
| `invoked`, `returned` | when the operation began and ended, in microseconds of the true time |
| `settled` | when its last request had reached the table or was lost; a late request makes it later than `returned` |
| `strays` | how many of its requests reached the table, but got no response to the client |
| `answer` | the response as docs/reference.md describes it, or `{"error": NAME}`; `null` if that is unknown |
"""
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional


class Malformed(Exception):
    """A line that is not part of a history."""


@dataclass(frozen=True)
class Operation:
    """One call of a client."""
    number: int
    lock: str
    holder: str
    call: str
    invoked: int
    returned: int
    settled: int
    answer: Optional[dict]
    strays: int = 0
    queue: bool = False
    wait_until: Optional[int] = None
    token: int = 0

    @property
    def may_stray(self) -> bool:
        """Whether a request of this operation may take effect after the table decided its answer."""
        return self.strays > 0 or self.answer is None

    def __str__(self) -> str:
        end = json.dumps(self.answer) if self.answer is not None else "unknown"
        late = f", a request under way until {self.settled}" if self.settled > self.returned else ""
        what = self.call + (" in the queue" if self.queue else "") + (f" under {self.token}" if self.token else "")
        return f"operation {self.number}, {self.invoked} to {self.returned}{late}: {self.holder} {what}: {end}"


@dataclass(frozen=True)
class History:
    """All operations on some locks."""
    permits: dict
    lease: int
    skew: int
    operations: list

    def of_lock(self, lock: str) -> list:
        return [operation for operation in self.operations if operation.lock == lock]


# The numbers that the search reads from an answer, by call and status.
ANSWERS = {
    "acquire": {
        "granted": ("token", "expiresAt"), "alreadyHeld": ("token", "expiresAt"),
        "queued": ("position", "queueLength"), "skipped": ("held", "queueLength"), "gaveUp": ("queueLength",),
    },
    "heartbeat": {"renewed": ("expiresAt",), "ended": (), "lost": ()},
    "release": {"released": ("alreadyReleased",), "lost": ()},
}


def read(lines) -> History:
    """Reads the history in `lines`. Raises Malformed."""
    header, operations = None, []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
            if header is None:
                header = (dict(value["locks"]), int(value["leaseMillis"]), int(value["skewMillis"]))
            else:
                operations.append(operation_of(value, header[0]))
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"line {number}: {type(error).__name__} {error}: {line.strip()[:200]}") from error
    if header is None:
        raise Malformed("line 1 is missing: the history is empty")
    return History(*header, operations)


def operation_of(value: dict, locks: dict) -> Operation:
    """Reads the operation of one line. Raises KeyError, TypeError or ValueError."""
    call, answer = value["call"], value["answer"]
    if value["lock"] not in locks:
        raise ValueError(f"lock {value['lock']} is not in the first line")
    operation = Operation(
        number=int(value["op"]), lock=value["lock"], holder=str(value["holder"]), call=call,
        invoked=int(value["invoked"]), returned=int(value["returned"]), settled=int(value["settled"]),
        answer=None if answer is None else answer_of(call, answer),
        strays=int(value["strays"]), queue=bool(value.get("queue", False)), wait_until=optional(value, "waitUntil"),
        token=0 if call == "acquire" else int(value["token"]),
    )
    if not operation.invoked <= operation.returned <= operation.settled:
        raise ValueError("invoked, returned and settled must be in this order")
    return operation


def answer_of(call: str, answer: dict) -> dict:
    """Returns the fields of a response that the search needs. The time of a grant in milliseconds is its token."""
    if answer.get("error") == "Lockstep.LeaseLost":
        answer = {"status": "lost"}
    flat = {**answer, "token": answer.get("grant", {}).get("token")}
    flat["expiresAt"] = millis(answer["expiresAt"]) if "expiresAt" in answer else None
    status = answer["status"]
    read_of = {"status": status, **{field: int(flat[field]) for field in ANSWERS[call][status]}}
    if "holder" in answer and "since" in answer:
        read_of["oldest"] = {"holder": answer["holder"], "token": millis(answer["since"])}
    return read_of


def millis(text: str) -> int:
    """Returns an RFC 3339 time in milliseconds since 1970."""
    since = datetime.fromisoformat(text.replace("Z", "+00:00")) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def optional(value: dict, field: str) -> Any:
    return None if value.get(field) is None else int(value[field])
