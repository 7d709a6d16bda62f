/**
 * A thousand clients that wait for one decision: the memory and the database connections that they take, and how long
 * until the last of them knows it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { askForApproval } from "./fill.mjs";
import { httpRequest, openConnection } from "./load.mjs";
import { printResult } from "./rounds.mjs";
import { readMemory } from "./usage.mjs";
import { deny } from "./world-app.mjs";

export const name = "long-polls";

const clients = 1000;
/** First runs are slow, and a service that people wait for has decided before. */
const earlierDecisions = 20;
/** Seconds; a poll ends after 25. */
const longestSettle = 15;

const totalMicros = (service) => Object.values(service.meter()).reduce((sum, micros) => sum + micros, 0);

/** Waits until the server is idle: every poll has found its request pending. */
async function settle(service) {
  for (let i = 0; i < 2 * longestSettle; i += 1) {
    const before = totalMicros(service);
    await sleep(500);
    if (totalMicros(service) - before < 50_000) return;
  }
  throw new Error("the server did not come to rest");
}

const totalMemory = (service) => readMemory(service.pid()).reduce((sum, { megabytes }) => sum + megabytes, 0);

/** The moment at which the answer came. */
async function poll(connection, request) {
  const { status, body } = await connection.send(request);
  const answeredMs = performance.now();
  if (status !== 200 || !body.includes('"status":"denied"'))
    throw new Error(`a long poll was answered ${status}: ${body}`);
  return answeredMs;
}

export async function run(servers) {
  // A service of its own: garbage of other cases in a process's heap would hide the polls' share.
  const service = await servers.service("polls");
  for (let i = 0; i < earlierDecisions; i += 1) {
    const { link } = await askForApproval(service);
    await deny(link, "203.0.113.9");
  }
  const { id, link } = await askForApproval(service);
  const request = httpRequest(service.port, "GET", `/v1/authorize/${id}?wait=25`);
  await settle(service);
  const before = totalMemory(service);
  const connections = Array.from({ length: clients }, () => openConnection(service.port));
  const polls = Promise.all(connections.map((connection) => poll(connection, request)));
  await Promise.race([settle(service), polls]);
  const added = totalMemory(service) - before;
  const { open, busy } = await servers.databases.countConnections(service.database);
  const sentMs = performance.now();
  await deny(link, "203.0.113.9");
  const decidedMs = performance.now();
  const lastMs = Math.max(...(await polls));
  for (const connection of connections) connection.close();

  const title = `${clients} long polls`;
  console.log(`\n${title} of one request; the denial itself took ${(decidedMs - sentMs).toFixed(0)} ms`);
  printResult(`${title}, memory added to a fresh service`, added, "MB", "less is better");
  printResult(`${title}, database connections that are busy`, busy, "", `of ${open} in its pools`);
  printResult(`${title}, decision sent until all know it`, lastMs - sentMs, "ms", "less is better");
  const afterMs = Math.max(0, lastMs - decidedMs);
  printResult(`${title}, decision answered until all know it`, afterMs, "ms", "less is better");
}
