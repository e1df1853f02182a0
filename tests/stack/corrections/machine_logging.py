"""The logging of a state machine that a stack makes.

AWS: DescribeStateMachine returns loggingConfiguration with fields in camelCase, whoever made the state machine.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_LoggingConfiguration.html
ministack 1.5.33: returns that of a stack with the names of the template, in PascalCase.
"""
from ministack.services.cloudformation import provisioners

PROPERTY = "LoggingConfiguration"


def _camel(value):
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _camel(one) for name, one in value.items()}
    return [_camel(one) for one in value] if isinstance(value, list) else value


def _as_described(properties):
    return {name: _camel(value) if name == PROPERTY else value for name, value in properties.items()}


def apply():
    # At its time, not at import: managed_rules.py takes the place of the same handler.
    handlers = provisioners._RESOURCE_HANDLERS["AWS::StepFunctions::StateMachine"]
    create, update = handlers["create"], handlers["update"]
    handlers["create"] = lambda logical_id, properties, *more: create(logical_id, _as_described(properties), *more)
    handlers["update"] = lambda physical_id, before, after, *more: update(
        physical_id, _as_described(before), _as_described(after), *more)
