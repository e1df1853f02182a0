"""Map states.

AWS: when one item fails (and no tolerance is set) the state fails with that error and the
  other items are stopped. https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
ministack 1.5.33: runs every other item to its end first.
"""
from ministack.services import stepfunctions as sfn

from . import scope

_stock_items = sfn._run_map_items
_stock_sub_machine = sfn._run_sub_machine


class _MapScope(scope.Scope):
    pass


def _run_sub_machine(states, start_at, data, execution, context):
    owner = scope.current()
    try:
        return _stock_sub_machine(states, start_at, data, execution, context)
    except scope.TaskError as error:
        if isinstance(owner, _MapScope) and not isinstance(error, scope.Stopped) and owner.first_error is None:
            owner.first_error = error
            owner.cancel()
        raise


def _run_map_items(state, raw_input, execution, context):
    items = _MapScope(scope.current())
    token = scope.enter(items)
    try:
        return _stock_items(state, raw_input, execution, context)
    except scope.Stopped:
        if items.first_error:
            raise items.first_error from None
        raise
    finally:
        scope.leave(token)
        items.close()


def apply():
    sfn._run_sub_machine = _run_sub_machine
    sfn._run_map_items = _run_map_items
