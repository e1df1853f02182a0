#!/usr/bin/env node
// Acquires and releases locks in pairs, in Node: pair.js ENDPOINT TABLE
//
// A pair is two conditional UpdateItem requests of the SDK v3, like the bare pair in Rust. Reads one order of JSON from
// each line of stdin, and answers with one line of JSON:
//
//   {"pairs": 10}                  the milliseconds of each of ten pairs, one after the other
//   {"clients": 8, "seconds": 1}   the number of pairs that eight clients complete in one second, each on its own lock
"use strict";
const { createInterface } = require("node:readline");
const { Agent } = require("node:http");
const { DynamoDBClient, UpdateItemCommand } = require("@aws-sdk/client-dynamodb");

const [endpoint, TableName] = process.argv.slice(2);
const httpAgent = new Agent({ keepAlive: true, maxSockets: 64 });
const client = new DynamoDBClient({ endpoint, maxAttempts: 3, requestHandler: { httpAgent } });

async function pair(lock) {
  const now = Date.now();
  const Key = { pk: { S: lock }, sk: { S: "bare" } };
  const ExpressionAttributeNames = { "#owner": "owner" };
  await client.send(new UpdateItemCommand({
    TableName, Key, ExpressionAttributeNames,
    ConditionExpression: "attribute_not_exists(#owner) OR expiresAt < :now OR #owner = :me",
    UpdateExpression: "SET #owner = :me, expiresAt = :end ADD fence :one",
    ExpressionAttributeValues: {
      ":me": { S: "owner-1" }, ":now": { N: `${now}` }, ":end": { N: `${now + 60_000}` }, ":one": { N: "1" },
    },
  }));
  await client.send(new UpdateItemCommand({
    TableName, Key, ExpressionAttributeNames,
    ConditionExpression: "#owner = :me",
    UpdateExpression: "REMOVE #owner, expiresAt",
    ExpressionAttributeValues: { ":me": { S: "owner-1" } },
  }));
}

async function timed(count) {
  const times = [];
  for (let done = 0; done < count; done += 1) {
    const begin = performance.now();
    await pair("node");
    times.push(performance.now() - begin);
  }
  return times;
}

/** Returns the number of pairs that are complete within `seconds`. */
async function load(clients, seconds) {
  const end = performance.now() + seconds * 1000;
  let count = 0;
  const work = async (_, number) => {
    for (;;) {
      await pair(`node-${number}`);
      if (performance.now() > end) return;
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, work));
  return count;
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    const answer = order.pairs ? await timed(order.pairs) : await load(order.clients, order.seconds);
    console.log(JSON.stringify(answer));
  }
}

main();
