#!/usr/bin/env python3
"""A lock around a command, written by hand with boto3: wrap.py TABLE LOCK COMMAND [ARG ...]

benches/command.py compares it with `lockstep run`. It acquires, runs the command and releases, but does not renew its
lease and forwards no signal.
"""
import subprocess
import sys
import time

import boto3


def main():
    table, lock, *command = sys.argv[1:]
    client = boto3.client("dynamodb")
    key, me = {"pk": {"S": lock}, "sk": {"S": "bare"}}, f"owner-{time.time_ns()}"
    now = int(time.time() * 1000)
    client.update_item(
        TableName=table, Key=key, ConditionExpression="attribute_not_exists(#owner) OR expiresAt < :now",
        UpdateExpression="SET #owner = :me, expiresAt = :end", ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":me": {"S": me}, ":now": {"N": str(now)}, ":end": {"N": str(now + 60_000)}})
    code = subprocess.run(command, check=False).returncode
    client.update_item(
        TableName=table, Key=key, ConditionExpression="#owner = :me",
        UpdateExpression="REMOVE #owner, expiresAt", ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":me": {"S": me}})
    return code


if __name__ == "__main__":
    sys.exit(main())
