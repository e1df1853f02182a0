import { Duration, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as events from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { ExclusiveEcsBatch, ExclusiveRun, ExclusiveWorkflow, LockstepAlerts, LockstepSlackChannel } from 'lockstep-cdk';
import { DAILY, EVERY_LOCK_OPTION, scene } from './scene';

/** A stack with nothing but what has to be given: a Lockstep and one batch. */
export function minimalStack(): Stack {
  const { stack, lockstep, taskDefinition, cluster } = scene();
  new ExclusiveEcsBatch(stack, 'Batch', { lockstep, taskDefinition, cluster, schedule: DAILY, lockName: 'nightly-report' });
  return stack;
}

/** A stack with every construct, every option and every grant. */
export function everythingStack(): Stack {
  const { stack, lockstep, taskDefinition, cluster, stateMachine, topic } = scene({ metricsPerLock: true });
  new LockstepAlerts(stack, 'Alerts', { lockstep, topic, detailTypes: ['Lockstep Lease Lost'] });
  new LockstepSlackChannel(stack, 'Slack', { lockstep, workspaceId: 'T012ABCDEFG', channelId: 'C012ABCDEFG', operates: true });
  const { run } = new ExclusiveEcsBatch(stack, 'Batch', {
    lockstep, taskDefinition, cluster, schedule: DAILY, enabled: false, alarmTopic: topic, ...EVERY_LOCK_OPTION,
    containerName: 'app', command: ['report'], environment: { REGION: 'eu' }, assignPublicIp: true,
    vpcSubnets: { subnetType: ec2.SubnetType.PUBLIC }, securityGroups: [ec2.SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-1')],
  });
  const etl = new ExclusiveRun(stack, 'Etl', {
    lockstep, stateMachine, lockName: 'etl', workflowInput: { regions: ['eu'] }, grantField: 'lockstep',
  });
  new ExclusiveWorkflow(stack, 'Guarded', { lockstep, lockName: 'guarded', states: new sfn.Pass(stack, 'Work') });
  const ec2Task = new ecs.Ec2TaskDefinition(stack, 'Ec2Task');
  ec2Task.addContainer('app', { image: ecs.ContainerImage.fromRegistry('report'), memoryLimitMiB: 64 });
  const onEc2 = new ExclusiveRun(stack, 'OnEc2', { lockstep, taskDefinition: ec2Task, cluster, lockName: 'on-ec2' });
  new events.Rule(stack, 'Rule', { schedule: events.Schedule.rate(Duration.hours(1)), targets: [onEc2.ruleTarget()] });
  new sfn.StateMachine(stack, 'Caller', {
    definitionBody: sfn.DefinitionBody.fromChainable(run.startTask(stack, 'Report', { runKey: sfn.JsonPath.stringAt('$.date') })
      .next(etl.startTask(stack, 'Load', { queryLanguage: sfn.QueryLanguage.JSONATA, runKey: '{% $states.context.Execution.Input.date %}' }))),
  });
  const role = new iam.Role(stack, 'Role', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
  for (const grant of ['grantRun', 'grantAcquire', 'grantHeartbeat', 'grantRelease', 'grantCheckRunningExecutions', 'grantOperate', 'grantView'] as const) {
    lockstep[grant](role);
  }
  etl.grantRun(role);
  lockstep.grantContainer(role, 'orders/');
  lockstep.grantTaskProtection(role);
  return stack;
}
