import { RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';

/** Adds the lock table. It outlives the stack, because it holds the fencing tokens, which would start over without it. */
export function addLockTable(scope: Construct, encryptionKey?: kms.IKey): dynamodb.Table {
  const table = new dynamodb.Table(scope, 'LockTable', {
    partitionKey: { name: 'pk', type: dynamodb.AttributeType.STRING },
    sortKey: { name: 'sk', type: dynamodb.AttributeType.STRING },
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    deletionProtection: true,
    ...(encryptionKey && { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    timeToLiveAttribute: 'ttl',
    removalPolicy: RemovalPolicy.RETAIN,
  });
  // For the sweep. Only a lock with a holder, a waiter, a pause with an end or an expectation is in this index.
  table.addGlobalSecondaryIndex({
    indexName: 'due',
    partitionKey: { name: 'shard', type: dynamodb.AttributeType.STRING },
    sortKey: { name: 'dueAt', type: dynamodb.AttributeType.NUMBER },
    projectionType: dynamodb.ProjectionType.KEYS_ONLY,
  });
  // For operators. All locks are in this index.
  table.addGlobalSecondaryIndex({
    indexName: 'locks',
    partitionKey: { name: 'lockShard', type: dynamodb.AttributeType.STRING },
    sortKey: { name: 'pk', type: dynamodb.AttributeType.STRING },
    projectionType: dynamodb.ProjectionType.KEYS_ONLY,
  });
  return table;
}
