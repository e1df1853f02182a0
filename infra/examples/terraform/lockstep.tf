# The bucket that `sam package` uploads the functions to.
data "aws_s3_bucket" "artifacts" {
  bucket = var.bucket
}

# The key changes with the template, so that CloudFormation sees that the template is new.
resource "aws_s3_object" "template" {
  bucket = data.aws_s3_bucket.artifacts.id
  key    = "lockstep/template-${filemd5("${path.module}/packaged.yaml")}.yaml"
  source = "${path.module}/packaged.yaml"
}

resource "aws_cloudformation_stack" "lockstep" {
  name         = "lockstep"
  template_url = "https://${data.aws_s3_bucket.artifacts.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]

  parameters = {
    Architecture        = "arm64"
    TaskDefinitionArns  = join(",", var.task_definition_arns)
    TaskRoleArns        = join(",", var.task_role_arns)
    GuardedWorkflowArns = join(",", var.workflow_arns)
  }
}

variable "bucket" {
  type = string
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

# The target of a schedule, and the resource of the permission states:StartExecution.
output "exclusive_run_arn" {
  value = aws_cloudformation_stack.lockstep.outputs["ExclusiveRunStateMachineArn"]
}
