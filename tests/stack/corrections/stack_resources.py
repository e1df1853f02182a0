"""The stack of a resource.

AWS: DescribeStackResources takes the physical id of a resource in place of the name of a stack, and describes all
  resources of the stack that has it; one that no stack has is a ValidationError.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
ministack 1.5.33: needs the name of the stack.
"""
from ministack.services.cloudformation import _stacks, handlers

_stock = handlers._describe_stack_resources


def stack_of(physical_id):
    """The name of the stack that has this resource."""
    for stack in _stacks.values():
        made = stack.get("_resources", {}).values()
        if any(resource.get("PhysicalResourceId") == physical_id for resource in made):
            return stack["StackName"]
    return None


def _describe(params):
    wanted = handlers._p(params, "PhysicalResourceId")
    if not wanted or handlers._p(params, "StackName"):
        return _stock(params)
    name = stack_of(wanted)
    if not name:
        return handlers._error("ValidationError", f"Stack for {wanted} does not exist")
    return _stock({**params, "StackName": [name]})


def apply():
    handlers._ACTION_HANDLERS["DescribeStackResources"] = _describe
