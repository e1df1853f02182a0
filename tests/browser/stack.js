// The deployed local stack: its functions, and locks to look at.
import fs from 'node:fs';
import path from 'node:path';

const outputs = JSON.parse(fs.readFileSync(path.join(process.env.LOCKSTEP_STATE, 'outputs.json'), 'utf8')).lockstep;

export const VIEW = outputs.ViewFunctionArn;

const CREDENTIAL = 'Credential=test/20260101/us-east-1/lambda/aws4_request';

/** Invokes a function by its ARN, and returns what it returned. A function's error is an error here. */
export async function invoke(arn, event) {
  const response = await fetch(`${process.env.AWS_ENDPOINT_URL}/2015-03-31/functions/${arn}/invocations`, {
    method: 'POST',
    body: JSON.stringify(event),
    headers: { authorization: `AWS4-HMAC-SHA256 ${CREDENTIAL}, SignedHeaders=host, Signature=0`, 'content-type': 'application/json' },
  });
  const text = await response.text();
  if (!response.ok || response.headers.get('x-amz-function-error')) {
    throw new Error(`${arn}: ${response.status} ${text}`);
  }
  return JSON.parse(text);
}

async function acquire(lock, holder, more = {}) {
  const answer = await invoke(outputs.AcquireLockFunctionArn, { lock, holder, leaseSeconds: 900, ...more });
  if (answer.status !== 'granted') {
    throw new Error(`${lock} was not granted to ${holder}: ${JSON.stringify(answer)}`);
  }
  return answer.grant;
}

const release = (grant, outcome) => invoke(outputs.ReleaseLockFunctionArn, { grant, outcome });

const pause = (lock, note) => invoke(outputs.OperateFunctionArn, { act: 'pause', lock, note, actor: 'jo@example.com' });

const seconds = (count) => new Promise((resolve) => setTimeout(resolve, count * 1000));

/** Locks in several states, one of them with a history and two holders, and one with `note` as its note. */
export async function prepare(note) {
  const ended = [[0.6, 'succeeded'], [0.9, 'succeeded'], [0.3, 'failed'], [1.1, 'succeeded']];
  for (const [length, outcome] of ended) {
    const grant = await acquire('batches/billing', `billing-${outcome}`, { permits: 2 });
    await seconds(length);
    await release(grant, outcome);
  }
  await acquire('batches/billing', 'billing-eu', { permits: 2 });
  await acquire('batches/billing', 'billing-us', { permits: 2 });
  await release(await acquire('batches/etl/orders', 'etl-1'), 'succeeded');
  await acquire('batches/etl/customers', 'etl-2');
  await acquire('batches/nightly-report', 'report-1');
  await pause('batches/etl/injected', note);
  await pause('batches/etl/stock', 'database upgrade');
}

/** A request to the database itself, which checks no signature. */
async function table(operation, request) {
  const response = await fetch(process.env.AWS_ENDPOINT_URL_DYNAMODB, {
    method: 'POST',
    body: JSON.stringify(request),
    headers: {
      authorization: `AWS4-HMAC-SHA256 ${CREDENTIAL.replace('lambda', 'dynamodb')}, SignedHeaders=host, Signature=0`,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
    },
  });
  const body = await response.json();
  if (!response.ok) {
    throw new Error(`${operation}: ${JSON.stringify(body)}`);
  }
  return body;
}

/**
 * So many held locks whose names begin with `prefix`: copies of the record of one, because as many calls of
 * acquire-lock would take most of the test's time.
 */
export async function many(prefix, count) {
  const TableName = outputs.LockTableName;
  const name = (number) => `${prefix}${String(number).padStart(3, '0')}`;
  await acquire(name(0), 'nightly-run');
  const Key = { pk: { S: name(0) }, sk: { S: 'lock' } };
  const { Item } = await table('GetItem', { TableName, Key, ConsistentRead: true });
  const puts = Array.from({ length: count - 1 }, (_, number) => ({ PutRequest: { Item: { ...Item, pk: { S: name(number + 1) } } } }));
  while (puts.length) {
    await table('BatchWriteItem', { RequestItems: { [TableName]: puts.splice(0, 25) } });
  }
}

/** The state of a lock. */
export const state = async (lock) => (await invoke(VIEW, { act: 'show', lock })).state;
