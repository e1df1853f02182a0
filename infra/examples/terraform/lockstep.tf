resource "aws_cloudformation_stack" "lockstep" {
  name          = "lockstep"
  template_body = file("${path.module}/packaged.yaml")
  capabilities  = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]

  parameters = {
    Architecture        = "arm64"
    TaskDefinitionArns  = join(",", var.task_definition_arns)
    TaskRoleArns        = join(",", var.task_role_arns)
    GuardedWorkflowArns = join(",", var.workflow_arns)
  }
}

variable "task_definition_arns" {
  type    = list(string)
  default = []
}

variable "task_role_arns" {
  type    = list(string)
  default = []
}

variable "workflow_arns" {
  type    = list(string)
  default = []
}

# The target of a schedule, and the resource of states:StartExecution.
output "exclusive_run_arn" {
  value = aws_cloudformation_stack.lockstep.outputs["ExclusiveRunStateMachineArn"]
}
