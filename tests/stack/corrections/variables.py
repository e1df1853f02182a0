"""Assign.

AWS: all expressions of one Assign see the variables as they were on entry; the new values
  count from the next state on.
  https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
ministack 1.5.33: assigns one by one, so that a later expression sees an earlier one's value.
"""
from ministack.services import stepfunctions as sfn


def _apply_state_assign(state, raw_input, context, result=None, error_output=None):
    assign = state.get("Assign")
    if context is None or not isinstance(assign, dict) or sfn._state_query_language(state, context) != "JSONata":
        return
    values = {name: sfn._apply_jsonata_template(template, raw_input, context, result=result, error_output=error_output)
              for name, template in assign.items()}
    context.setdefault("variables", {}).update(values)


def apply():
    sfn._apply_state_assign = _apply_state_assign
