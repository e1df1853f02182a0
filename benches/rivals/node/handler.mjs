// Takes a lock by one conditional UpdateItem. The client is built once, as Lambda's guides say.
import { ConditionalCheckFailedException, DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({ maxAttempts: 3, requestHandler: { connectionTimeout: 500, requestTimeout: 2000 } });

export async function handler(event) {
  const now = Date.now();
  try {
    const answer = await client.send(new UpdateItemCommand({
      TableName: process.env.LOCKSTEP_TABLE,
      Key: { pk: { S: event.lock }, sk: { S: "lock" } },
      UpdateExpression: "SET holder = :holder, expiresAt = :expires ADD fencing :one",
      ConditionExpression: "attribute_not_exists(holder) OR holder = :holder OR expiresAt < :now",
      ExpressionAttributeValues: {
        ":holder": { S: event.holder }, ":expires": { N: String(now + event.leaseSeconds * 1000) },
        ":now": { N: String(now) }, ":one": { N: "1" },
      },
      ReturnValues: "UPDATED_NEW",
    }));
    return { status: "acquired", token: Number(answer.Attributes.fencing.N) };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { status: "held" };
    throw error;
  }
}
