"""The stack of a resource, and the names of resources.

AWS: DescribeStackResources accepts the physical id of a resource in place of the name of a stack, and describes all
  resources of that resource's stack. An id that no stack has is a ValidationError.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
ministack 1.5.33: needs the name of the stack.
AWS: a resource without a name in the template gets a unique name. So a stack can be created although an earlier stack of the
  same name has left resources behind.
  https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
ministack 1.5.33: derives the name from those of the stack and the resource. Here the name has a random seed, which is kept
  with the resource, as the emulator does for a resource that is replaced.
"""
from ministack.core.responses import new_uuid
from ministack.services.cloudformation import _stacks, handlers, stacks

_stock = handlers._describe_stack_resources


def stack_of(physical_id):
    """Returns the name of the stack that has this resource, or None."""
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
