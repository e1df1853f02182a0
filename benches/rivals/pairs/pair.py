#!/usr/bin/env python3
"""Acquires and releases locks in pairs, in Python: pair.py boto3|library ENDPOINT TABLE

`boto3` makes a pair of two conditional UpdateItem requests, like the bare pair in Rust. `library` uses
python-dynamodb-lock. Reads one order of JSON from each line of stdin, and answers with one line of JSON:

  {"pairs": 10}                  the milliseconds of each of ten pairs, one after the other
  {"clients": 8, "seconds": 1}   the number of pairs that eight threads complete in one second, each on its own lock
"""
import json
import sys
import threading
import time
from datetime import timedelta

import boto3
from botocore.config import Config
from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient

SETTINGS = Config(max_pool_connections=64, retries={"mode": "standard", "total_max_attempts": 3})


class Bare:
    def __init__(self, endpoint, table):
        self.client = boto3.client("dynamodb", endpoint_url=endpoint, config=SETTINGS)
        self.table = table

    def pair(self, lock):
        now = int(time.time() * 1000)
        key = {"pk": {"S": lock}, "sk": {"S": "bare"}}
        self.client.update_item(
            TableName=self.table, Key=key,
            ConditionExpression="attribute_not_exists(#owner) OR expiresAt < :now OR #owner = :me",
            UpdateExpression="SET #owner = :me, expiresAt = :end ADD fence :one",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":me": {"S": "owner-1"}, ":now": {"N": str(now)},
                                       ":end": {"N": str(now + 60_000)}, ":one": {"N": "1"}})
        self.client.update_item(
            TableName=self.table, Key=key, ConditionExpression="#owner = :me",
            UpdateExpression="REMOVE #owner, expiresAt", ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":me": {"S": "owner-1"}})


class Library:
    """A client of python-dynamodb-lock. Its heartbeat period is so long that it sends no heartbeat during a measurement."""

    def __init__(self, endpoint, table):
        resource = boto3.resource("dynamodb", endpoint_url=endpoint, config=SETTINGS)
        self.client = DynamoDBLockClient(
            resource, table_name=table, partition_key_name="pk", sort_key_name="sk",
            heartbeat_period=timedelta(seconds=300), safe_period=timedelta(seconds=900),
            lease_duration=timedelta(seconds=1000))

    def pair(self, lock):
        self.client.acquire_lock(lock, sort_key="library").release(best_effort=False)


def timed(subject, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        subject.pair("python")
        times.append((time.perf_counter() - begin) * 1000)
    return times


def load(subject, clients, seconds):
    """Returns the number of pairs that are complete within `seconds`."""
    counts = [0] * clients
    end = time.perf_counter() + seconds

    def work(number):
        while True:
            subject.pair(f"python-{number}")
            if time.perf_counter() > end:
                return
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def main():
    kind, endpoint, table = sys.argv[1:]
    subject = {"boto3": Bare, "library": Library}[kind](endpoint, table)
    for line in sys.stdin:
        order = json.loads(line)
        if "pairs" in order:
            answer = timed(subject, order["pairs"])
        else:
            answer = load(subject, order["clients"], order["seconds"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
