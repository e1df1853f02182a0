"""Acquires a lock by one conditional UpdateItem. Creates the client once, as Lambda's best practices recommend."""
import os
import time

import boto3
from botocore.config import Config

CLIENT = boto3.client("dynamodb", config=Config(
    connect_timeout=0.5, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 3}))
TABLE = os.environ["LOCKSTEP_TABLE"]


def handler(event, _context):
    now = int(time.time() * 1000)
    try:
        answer = CLIENT.update_item(
            TableName=TABLE,
            Key={"pk": {"S": event["lock"]}, "sk": {"S": "lock"}},
            UpdateExpression="SET holder = :holder, expiresAt = :expires ADD fencing :one",
            ConditionExpression="attribute_not_exists(holder) OR holder = :holder OR expiresAt < :now",
            ExpressionAttributeValues={
                ":holder": {"S": event["holder"]}, ":expires": {"N": str(now + event["leaseSeconds"] * 1000)},
                ":now": {"N": str(now)}, ":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW")
    except CLIENT.exceptions.ConditionalCheckFailedException:
        return {"status": "held"}
    return {"status": "acquired", "token": int(answer["Attributes"]["fencing"]["N"])}
