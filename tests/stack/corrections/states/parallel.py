"""Parallel states. https://docs.aws.amazon.com/step-functions/latest/dg/state-parallel.html"""
from . import attempts
from .siblings import Siblings

run_states = None  # set by machine.py, which runs this


def run(visit):
    return attempts.run(visit, lambda: _attempt(visit), lambda: visit.trail.add("ParallelStateFailed"))


def _attempt(visit):
    branches = visit.state.get("Branches", [])
    given = _input(visit)
    visit.trail.add("ParallelStateStarted")

    def work(line, index, go_on):
        begin = go_on or (branches[index]["StartAt"], given)
        return run_states(line, branches[index]["States"], *begin, entered=bool(go_on))

    results = Siblings(visit, len(branches), len(branches), work).run()
    visit.trail.add("ParallelStateSucceeded", aside=True)
    return visit.finished(results)


def _input(visit):
    if visit.jsonata:
        return visit.template(visit.state["Arguments"], "Arguments") if "Arguments" in visit.state else visit.input
    effective = visit.selected("InputPath", visit.input)
    return visit.payload(visit.state["Parameters"], effective) if "Parameters" in visit.state else effective
