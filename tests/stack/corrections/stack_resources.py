"""The stack of a resource, and the names of resources.

AWS: DescribeStackResources takes the physical id of a resource in place of the name of a stack, and describes all
  resources of the stack that has it; one that no stack has is a ValidationError.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
ministack 1.5.33: needs the name of the stack.
AWS: a resource without a name of its own gets one that no other has, so a stack can be made again beside the resources
  that one of the same name has left.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
ministack 1.5.33: makes the name of those of the stack and the resource. A name that is drawn here is kept as its own are
  that a replacement draws.
"""
from ministack.core.responses import new_uuid
from ministack.services.cloudformation import _stacks, handlers, stacks

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


def _provision_keeping_seed(*args):
    token = stacks._NAME_SEED.set(new_uuid())
    try:
        return stacks._provision_resource(*args), stacks._NAME_SEED.get()
    finally:
        stacks._NAME_SEED.reset(token)


def apply():
    stacks._provision_keeping_seed = _provision_keeping_seed
    handlers._ACTION_HANDLERS["DescribeStackResources"] = _describe
