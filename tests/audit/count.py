"""Computes the figures of an audit independently of its code, from sorted lists of starts and ends."""
import bisect


def figures(runs):
    """Returns the figures of runs, (start, stop, status), which are sorted and end after their start."""
    starts, ends = [run[0] for run in runs], sorted(run[1] for run in runs)
    lengths = sorted(stop - start for start, stop, _ in runs)
    # A run overlaps if it starts while an earlier run has not ended.
    met = sum(n > bisect.bisect_right(ends, start) for n, start in enumerate(starts))
    shared = most = 0
    moments = sorted(set(starts) | set(ends))
    for here, there in zip(moments, moments[1:]):
        running = bisect.bisect_right(starts, here) - bisect.bisect_right(ends, here)
        most = max(most, running)
        shared += there - here if running > 1 else 0
    return {
        "runs": len(runs), "overlaps": met, "shared": shared, "most": most,
        "doubles": sum(b - a <= 1000 for a, b in zip(starts, starts[1:])),
        "median": rank(lengths, 50), "p95": rank(lengths, 95), "longest": lengths[-1],
        "failed": sum(status == "FAILED" for _, _, status in runs),
        "stopped": sum(a[1] > b[0] for a, b in zip(runs, runs[1:])),
        "skipped": skipped(runs), **queue(runs),
    }


def rank(lengths, percent):
    return lengths[max(-(-len(lengths) * percent // 100), 1) - 1]


def skipped(runs):
    taken = [runs[0]]
    for run in runs[1:]:
        if run[0] >= taken[-1][1]:
            taken.append(run)
    return len(runs) - len(taken)


def queue(runs):
    begins, free = [], 0
    for start, stop, _ in runs:
        begins.append(max(start, free))
        free = begins[-1] + stop - start
    waits = [begin - run[0] for begin, run in zip(begins, runs)]
    longest = max(n + 1 - bisect.bisect_right(begins, run[0]) for n, run in enumerate(runs))
    return {"waited": sum(wait > 0 for wait in waits), "longest wait": max(waits), "longest queue": max(longest, 0)}


def reported(machine):
    """Returns the same figures from the report of a state machine."""
    def millis(seconds):
        return round(seconds * 1000)
    overlaps, replay, durations = machine["overlaps"], machine["replay"], machine["durations"]
    return {
        "runs": machine["runs"], "overlaps": overlaps["runs"], "shared": millis(overlaps["seconds"]),
        "most": overlaps["mostAtOnce"], "doubles": machine["doubleStarts"],
        "median": millis(durations["medianSeconds"]), "p95": millis(durations["p95Seconds"]),
        "longest": millis(durations["longestSeconds"]), "failed": machine["endings"]["failed"],
        "stopped": replay["replace"]["stopped"], "skipped": replay["skip"]["skipped"],
        "waited": replay["queue"]["waited"], "longest wait": millis(replay["queue"]["longestWaitSeconds"]),
        "longest queue": replay["queue"]["longestQueue"],
    }
