"""The resources and condition keys with which the calls of a function's role are authorized.

AWS: the resources of DescribeTasks, StopTask, GetTaskProtection and UpdateTaskProtection are the tasks, those of DescribeServices
  the services, those of ListTasks the cluster's container instances, and that of RunTask is the task definition. The condition key
  ecs:cluster is the cluster's ARN.
  https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
ministack 1.5.33: the resource of all these calls is the cluster, and there is no ecs:cluster. Here only the first of the
  tasks in a DescribeTasks, and the first of the services in a DescribeServices, is checked.
AWS: the resource of FilterLogEvents is the log streams of the log group, and that of GetDashboard is the dashboard.
  https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatchlogs.html
  https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
ministack 1.5.33: the resource of FilterLogEvents is the log group itself, and GetDashboard has none.
AWS: the resource of DescribeRule and ListTargetsByRule is the rule, whose ARN names its bus unless that is the default one.
  https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
ministack 1.5.33: ListTargetsByRule has no resource, and that of DescribeRule names the default bus.
AWS: a GET of the concurrency of a function is GetFunctionConcurrency.
  https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConcurrency.html
ministack 1.5.33: takes it for PutFunctionConcurrency.
AWS: the resource of DescribeStackResources is the stack.
  https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscloudformation.html
ministack 1.5.33: a DescribeStackResources with the id of a resource in place of the stack has no resource.
AWS: the condition key events:source of PutEvents has the sources of the events in the request.
  https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-conditions.html
ministack 1.5.33: has no events:source.
AWS: the condition key dynamodb:LeadingKeys has the partition keys of the items in the request.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
ministack 1.5.33: has no dynamodb:LeadingKeys. Here requests for single items and transactions have it, on
  tables with the partition key `pk`.
"""
import json

from ministack.core import iam_actions
from ministack.core.responses import get_account_id, get_region

from .stack_resources import stack_of

_stock_resource = iam_actions.extract_resource_arn
_stock_context = iam_actions.request_tag_context
_stock_lambda_action = iam_actions._lambda_action


def _request(body):
    try:
        data = json.loads(body or b"{}")
    except (ValueError, TypeError):
        return {}
    return data if isinstance(data, dict) else {}


def _extract_resource_arn(service, method, path, headers, body, query_params, region, account_id):
    action = headers.get("x-amz-target", "").rpartition(".")[2]
    if service == "ecs":
        data = _request(body)
        cluster = str(data.get("cluster") or "default").rpartition("/")[2]
        prefix = f"arn:aws:ecs:{region}:{account_id}"
        if action in ("DescribeTasks", "StopTask", "GetTaskProtection", "UpdateTaskProtection"):
            task = str(data.get("task") or (data.get("tasks") or [""])[0])
            return task if task.startswith("arn:") else f"{prefix}:task/{cluster}/{task}"
        if action == "DescribeServices":
            service = str((data.get("services") or [""])[0])
            return service if service.startswith("arn:") else f"{prefix}:service/{cluster}/{service}"
        if action == "ListTasks":
            return f"{prefix}:container-instance/{cluster}/*"
        if action == "RunTask":
            definition = str(data.get("taskDefinition", ""))
            return definition if definition.startswith("arn:") else f"{prefix}:task-definition/{definition}"
    if service == "logs" and action == "FilterLogEvents":
        data = _request(body)
        group = data.get("logGroupName") or str(data.get("logGroupIdentifier")).rpartition(":log-group:")[2]
        return f"arn:aws:logs:{region}:{account_id}:log-group:{group}:log-stream:"
    if service == "events" and action in ("DescribeRule", "ListTargetsByRule"):
        data = _request(body)
        bus = str(data.get("EventBusName") or "default").rpartition("/")[2]
        rule = data.get("Rule") or data.get("Name", "")
        return f"arn:aws:events:{region}:{account_id}:rule/{rule if bus == 'default' else f'{bus}/{rule}'}"
    if service == "monitoring" and (dashboard := iam_actions._param(body, query_params, "DashboardName")):
        return f"arn:aws:cloudwatch::{account_id}:dashboard/{dashboard}"
    if service == "cloudformation" and (resource := iam_actions._param(body, query_params, "PhysicalResourceId")):
        return f"arn:aws:cloudformation:{region}:{account_id}:stack/{stack_of(resource)}/*"
    return _stock_resource(service, method, path, headers, body, query_params, region, account_id)


def _lambda_action(method, path):
    action = _stock_lambda_action(method, path)
    return "GetFunctionConcurrency" if (method, action) == ("GET", "PutFunctionConcurrency") else action


def _leading_keys(request):
    actions = [action for entry in request.get("TransactItems", []) for action in entry.values()]
    items = [action.get("Key") or action.get("Item") or {} for action in actions or [request]]
    return sorted({item["pk"]["S"] for item in items if "pk" in item})


def _request_tag_context(service, iam_action, body, params):
    context = _stock_context(service, iam_action, body, params)
    if service == "ecs":
        cluster = str(_request(body).get("cluster") or "default")
        if not cluster.startswith("arn:"):
            cluster = f"arn:aws:ecs:{get_region()}:{get_account_id()}:cluster/{cluster}"
        context = {**context, "ecs:cluster": cluster}
    if service == "dynamodb" and (keys := _leading_keys(_request(body))):
        context = {**context, "dynamodb:LeadingKeys": keys}
    if iam_action == "events:PutEvents":
        sources = {str(entry.get("Source")) for entry in _request(body).get("Entries", [])}
        context = {**context, "events:source": sources.pop() if len(sources) == 1 else sorted(sources)}
    return context


def apply():
    iam_actions.extract_resource_arn = _extract_resource_arn
    iam_actions._lambda_action = _lambda_action
    iam_actions.request_tag_context = _request_tag_context
