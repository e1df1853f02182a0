import { Stack, Tags } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

/**
 * Adds the dashboard with the page of all locks, which `view` serves as a custom widget.
 *
 * A dashboard belongs to no Region, so its name contains the Region of the stack:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Dashboards.html
 */
export function addDashboard(scope: Construct, view: lambda.Function): cloudwatch.CfnDashboard {
  // The console offers functions with this tag as custom widgets:
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
  Tags.of(view).add('cw-custom-widget', 'describe:readOnly', { includeResourceTypes: ['AWS::Lambda::Function'] });
  const stack = Stack.of(scope);
  const widget = {
    type: 'custom',
    width: 24,
    height: 18,
    properties: {
      title: 'Locks',
      endpoint: view.functionArn,
      updateOn: { refresh: true, resize: false, timeRange: false },
    },
  };
  return new cloudwatch.CfnDashboard(scope, 'Dashboard', {
    dashboardName: `${stack.stackName}-${stack.region}`,
    dashboardBody: stack.toJsonString({ widgets: [widget] }),
  });
}
