/** node:cluster's messages, as its processes send them, and what becomes of the connections in them. */
import type { Worker } from "node:cluster";
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { watchConnections } from "./supervisor";

const createHandle = () => {
  const close = () => {
    handle.closed += 1;
  };
  const handle = { closed: 0, close };
  return handle;
};

/** A worker to which cluster passes connections on, and which answers. */
function createWorker() {
  const child = Object.assign(new EventEmitter(), { send: (..._sent: unknown[]) => true });
  const worker = Object.assign(new EventEmitter(), { process: child });
  return {
    worker: worker as unknown as Worker,
    pass: (seq: number, handle: object) => child.send({ act: "newconn", seq }, handle),
    answer: (seq: number, accepted: boolean) => child.emit("internalMessage", { ack: seq, accepted }),
    end: () => worker.emit("exit"),
  };
}

function createTwo() {
  const connections = watchConnections();
  const workers = [createWorker(), createWorker()] as const;
  for (const { worker } of workers) connections.watch(worker);
  return { connections, workers };
}

it("closes what a worker had not accepted when it ended, and nothing else", () => {
  const { workers } = createTwo();
  const [first, second] = workers;
  const [taken, lost, others] = [createHandle(), createHandle(), createHandle()];
  first.pass(1, taken);
  first.answer(1, true);
  first.pass(2, lost);
  second.pass(3, others);
  first.end();
  expect([taken, lost, others].map(({ closed }) => closed)).toEqual([0, 1, 0]);
});

it("closes what all workers have refused, and what they refuse afterwards", () => {
  const { connections, workers } = createTwo();
  const [first, second] = workers;
  const [early, late, handedOn] = [createHandle(), createHandle(), createHandle()];
  first.pass(1, early);
  first.pass(2, late);
  first.pass(3, handedOn);
  first.answer(1, false);
  // Cluster hears the refusal first, and has sent it to the other worker by now.
  second.pass(4, handedOn);
  first.answer(3, false);
  second.answer(4, true);
  expect([early, late, handedOn].map(({ closed }) => closed)).toEqual([0, 0, 0]);
  connections.cutRefused();
  expect([early, late, handedOn].map(({ closed }) => closed)).toEqual([1, 0, 0]);
  first.answer(2, false);
  expect([early, late, handedOn].map(({ closed }) => closed)).toEqual([1, 1, 0]);
});

it("leaves alone what one worker refused and another took later", () => {
  const { connections, workers } = createTwo();
  const [first, second] = workers;
  const handle = createHandle();
  first.pass(1, handle);
  first.answer(1, false);
  second.pass(2, handle);
  second.answer(2, true);
  connections.cutRefused();
  expect(handle.closed).toBe(0);
});
