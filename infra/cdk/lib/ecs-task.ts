import { Stack, Token } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import { IConstruct } from 'constructs';
import { badProp } from './checks';

/** How an ECS task is run. */
export interface EcsTaskOptions {
  /**
   * Container that gets the `LOCKSTEP_` variables, `command` and `environment`.
   *
   * @default - the default container of the task definition; of an imported task definition, its only container
   */
  readonly containerName?: string;

  /**
   * Command of the container.
   *
   * @default - that of the task definition
   */
  readonly command?: string[];

  /**
   * More environment variables of the container.
   *
   * @default - those of the task definition
   */
  readonly environment?: { [name: string]: string };

  /**
   * Subnets of the task, with the network mode `awsvpc` only.
   *
   * @default - the private subnets of the cluster's VPC; the public ones with `assignPublicIp`
   */
  readonly vpcSubnets?: ec2.SubnetSelection;

  /**
   * Security groups of the task, up to five, with the network mode `awsvpc` only.
   *
   * @default - the default security group of the VPC
   */
  readonly securityGroups?: ec2.ISecurityGroup[];

  /**
   * Whether the task gets a public IP address, with the network mode `awsvpc` only.
   *
   * @default false
   */
  readonly assignPublicIp?: boolean;
}

/**
 * Returns the name by which RunTask starts a task definition, and the ARNs of its permission.
 *
 * A task definition of the app is started by its family. CloudFormation deregisters the old revision when it deploys a new one, so a
 * run that waits meanwhile has to start the new one. An imported task definition is started by its ARN, with its revision if
 * it has one.
 *
 * https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
 */
export function definitionOf(task: ecs.ITaskDefinition): { name: string; arns: string[] } {
  if (task instanceof ecs.TaskDefinition) {
    const resourceName = `${task.family}:*`;
    return { name: task.family, arns: [Stack.of(task).formatArn({ service: 'ecs', resource: 'task-definition', resourceName })] };
  }
  const arn = task.taskDefinitionArn;
  // RunTask is authorised on an ARN with a revision. The ARN behind a token may have a revision or not.
  const every = `${arn}:*`;
  return { name: arn, arns: Token.isUnresolved(arn) ? [arn, every] : [/:\d+$/.test(arn) ? arn : every] };
}

/** Returns the field `work` of a request that runs a task. */
export function runTask(scope: IConstruct, task: ecs.ITaskDefinition, cluster: ecs.ICluster, options: EcsTaskOptions): { [field: string]: any } {
  const defaultContainer = task instanceof ecs.TaskDefinition ? task.defaultContainer?.containerName : undefined;
  const container = options.containerName ?? defaultContainer;
  const { command, environment } = options;
  if (container === undefined && (command ?? environment)) {
    throw badProp(scope, 'containerName', undefined, 'name the container of command and environment');
  }
  const override = {
    Name: container,
    ...(command && { Command: command }),
    ...(environment && { Environment: Object.entries(environment).map(([Name, Value]) => ({ Name, Value })) }),
  };
  return {
    ...(container !== undefined && { container }),
    runTask: {
      Cluster: cluster.clusterArn,
      TaskDefinition: definitionOf(task).name,
      LaunchType: task.isFargateCompatible ? 'FARGATE' : 'EC2',
      ...network(scope, task, cluster, options),
      ...((command ?? environment) && { Overrides: { ContainerOverrides: [override] } }),
    },
  };
}

function network(scope: IConstruct, task: ecs.ITaskDefinition, cluster: ecs.ICluster, options: EcsTaskOptions): { [field: string]: any } {
  if (task.networkMode !== ecs.NetworkMode.AWS_VPC) {
    for (const prop of ['vpcSubnets', 'securityGroups', 'assignPublicIp'] as const) {
      if (options[prop] !== undefined) {
        throw badProp(scope, prop, options[prop], `be left out with the network mode ${task.networkMode}: it needs awsvpc`);
      }
    }
    return {};
  }
  const type = options.assignPublicIp ? ec2.SubnetType.PUBLIC : ec2.SubnetType.PRIVATE_WITH_EGRESS;
  const { subnetIds } = cluster.vpc.selectSubnets(options.vpcSubnets ?? { subnetType: type });
  const groups = options.securityGroups?.map((group) => group.securityGroupId);
  return {
    NetworkConfiguration: {
      AwsvpcConfiguration: {
        Subnets: subnetIds,
        ...(groups && { SecurityGroups: groups }),
        AssignPublicIp: options.assignPublicIp ? 'ENABLED' : 'DISABLED',
      },
    },
  };
}
