"""Assign.

AWS: all expressions of one Assign see the variables as they were on entry; the new values
  count from the next state on.
  https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
A rule of a Choice and a catcher assign in the language of their state.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
ministack 1.5.33: assigns one by one, so that a later expression sees an earlier one's value, and rules and catchers
  of a JSONata state in a JSONPath definition assign nothing.
"""
from ministack.services import stepfunctions as sfn


def _apply_state_assign(state, raw_input, context, result=None, error_output=None):
    assign = state.get("Assign")
    # A rule or a catcher has no Type, and comes here only from a state in JSONata.
    jsonata = "Type" not in state or sfn._state_query_language(state, context) == "JSONata"
    if context is None or not isinstance(assign, dict) or not jsonata:
        return
    values = {name: sfn._apply_jsonata_template(template, raw_input, context, result=result, error_output=error_output)
              for name, template in assign.items()}
    context.setdefault("variables", {}).update(values)


def apply():
    sfn._apply_state_assign = _apply_state_assign
