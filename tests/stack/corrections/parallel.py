"""Parallel states.

AWS: a JSONata Parallel has Arguments, Output and Assign; a branch reads the outer variables
  but assigns its own; when one branch fails the state fails at once and the others are stopped.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-parallel.html
  https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
ministack 1.5.33: ignores the JSONata fields, shares one scope among the branches, and waits
  for every branch to end by itself.
"""
import copy
import queue

from ministack.services import stepfunctions as sfn

from . import redrive, scope


def _run_parallel_branches(state, raw_input, execution, context):
    jsonata = sfn._state_query_language(state, context) == "JSONata"
    if jsonata:
        branch_input = sfn._apply_jsonata_arguments(state, raw_input, context)
    else:
        branch_input = sfn._apply_parameters(state, sfn._apply_input_path(state, raw_input, context), context)
    results = _run_all(state, branch_input, execution, context)
    if jsonata:
        output = sfn._apply_jsonata_output(state, raw_input, context, result=results, default=results)
        sfn._apply_state_assign(state, raw_input, context, result=results)
        return output, sfn._next_or_end(state)
    output = sfn._apply_result_path(state, raw_input, sfn._apply_result_selector(state, results))
    return sfn._apply_output_path(state, output, context), sfn._next_or_end(state)


def _run_all(state, branch_input, execution, context):
    branches = state.get("Branches", [])
    scopes = [scope.Scope(scope.current()) for _ in branches]
    results = [None] * len(branches)
    ended = queue.Queue()
    earlier = redrive.enter_branches(scopes)

    def run(index, branch):
        scope.enter(scopes[index])
        own = {**context, "variables": copy.deepcopy(context.get("variables", {}))}
        begin = redrive.begin_of(earlier[index], scopes[index], own) or (branch.get("StartAt"), branch_input)
        try:
            if not scopes[index].done:
                scopes[index].result = sfn._run_sub_machine(branch.get("States", {}), *begin, execution, own)
                scopes[index].done = True
            results[index] = scopes[index].result
            ended.put(None)
        except scope.TaskError as error:
            ended.put(error)
        except Exception as error:  # a branch that breaks otherwise fails the state as well
            ended.put(scope.TaskError("States.Runtime", str(error)))

    for index, branch in enumerate(branches):
        scope.in_thread(run, index, branch)
    try:
        with scope.telling(lambda: ended.put(scope.Stopped())):
            _join(ended, len(branches))
    except scope.TaskError:
        for branch_scope in scopes:
            branch_scope.cancel()
        raise
    finally:
        for branch_scope in scopes:
            branch_scope.close()
    return results


def _join(ended, count):
    for _ in range(count):
        error = ended.get()
        if error:
            raise error


def apply():
    sfn._run_parallel_branches = _run_parallel_branches
