/**
 * A nightly batch, a workflow and a part of a workflow. Runs of each never overlap.
 *
 *     npx cdk deploy --context image=<image> --context logLevel=debug
 */
import * as path from 'node:path';
import { App, Duration, Stack, StackProps, TimeZone } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import * as tasks from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { ExclusiveEcsBatch, ExclusiveStates, ExclusiveWorkflow, Lockstep, LockstepAlerts, OverlapPolicy } from 'lockstep-cdk';

class Batches extends Stack {
  constructor(scope: Construct, id: string, props: StackProps = {}) {
    super(scope, id, props);
    const architecture = process.arch === 'arm64' ? lambda.Architecture.ARM_64 : lambda.Architecture.X86_64;
    const lockstep = new Lockstep(this, 'Lockstep', {
      functionsPath: path.resolve(this.node.tryGetContext('functions') ?? '../../target/lambda'),
      architecture,
    });

    const vpc = new ec2.Vpc(this, 'Vpc', { maxAzs: 1, natGateways: 0 });
    const cluster = new ecs.Cluster(this, 'Cluster', { vpc });
    const taskDefinition = new ecs.FargateTaskDefinition(this, 'Report');
    const container = taskDefinition.addContainer('app', {
      image: ecs.ContainerImage.fromRegistry(this.node.tryGetContext('image') ?? 'public.ecr.aws/docker/library/busybox:1.37'),
      environment: { LOG_LEVEL: this.node.tryGetContext('logLevel') ?? 'info' },
      logging: ecs.LogDriver.awsLogs({ streamPrefix: 'report', logRetention: logs.RetentionDays.ONE_WEEK }),
    });

    const alerts = new sns.Topic(this, 'Alerts');
    new LockstepAlerts(this, 'LockstepAlerts', { lockstep, topic: alerts });

    const nightly = new ExclusiveEcsBatch(this, 'NightlyReport', {
      lockstep,
      lockName: 'nightly-report',
      taskDefinition,
      cluster,
      assignPublicIp: true,
      schedule: scheduler.ScheduleExpression.cron({ hour: '6', minute: '0', timeZone: TimeZone.ETC_UTC }),
      maxRun: Duration.hours(2),
      alarmTopic: alerts,
    });

    const report = new tasks.EcsRunTask(this, 'Run Report', {
      integrationPattern: sfn.IntegrationPattern.RUN_JOB,
      launchTarget: new tasks.EcsFargateLaunchTarget(),
      cluster,
      taskDefinition,
      assignPublicIp: true,
      subnets: { subnetType: ec2.SubnetType.PUBLIC },
      containerOverrides: [{ containerDefinition: container, environment: [{ name: 'REGION', value: 'eu' }] }],
    });
    const done = new sfn.Pass(this, 'Report Done', { result: sfn.Result.fromObject({ report: 'done' }) });
    new ExclusiveWorkflow(this, 'RegionalReport', {
      lockstep,
      lockName: 'regional-report',
      states: report.next(done),
    });

    // The report comes first, under its own lock. Then some states run under another lock.
    const publish = new ExclusiveStates(this, 'Publish', {
      lockstep,
      lockName: 'website',
      overlap: OverlapPolicy.QUEUE,
      states: new sfn.Wait(this, 'Upload', { time: sfn.WaitTime.duration(Duration.seconds(1)) }),
    });
    const published = new sfn.Pass(this, 'Published', { parameters: { report: sfn.JsonPath.objectAt('$.Status') } });
    new sfn.StateMachine(this, 'MonthEnd', {
      definitionBody: sfn.DefinitionBody.fromChainable(nightly.run.startTask(this, 'Report First').next(publish).next(published)),
    });
  }
}

export const batches = new Batches(new App(), 'batches');
