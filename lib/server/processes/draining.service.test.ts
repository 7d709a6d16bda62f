/** A process that is about to stop: it is no longer ready, answers everything, and lets nobody wait. */
import { expect, it } from "vitest";
import { ask } from "#support/authorizations";
import { holdWaits } from "#support/held-waits";
import { setupTestApp } from "#support/setup-app";

const { test } = setupTestApp();

it("answers who waits at once, says that it is not ready, and takes what comes all the same", async () => {
  const { key } = await test.createKey();
  const { made } = await ask(test, key);
  const { wakeups } = test.app.context;
  const { wait } = wakeups;
  const { begins, restore } = holdWaits(wakeups);
  const waiting = test.call("GET", `/v1/authorize/${made.request_id}?wait=25`);
  await begins;
  expect((await test.call("GET", "/v1/health")).status).toBe(200);
  test.app.leave();
  expect((await waiting).body.status).toBe("pending");
  restore();

  const health = await test.call("GET", "/v1/health");
  expect([health.status, health.body.code]).toEqual([503, "service_unavailable"]);
  const body = { agent_slug: "leaving-bot", action: "act", inputs_hash: "x" };
  expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  // Clients that ask again before it stops neither wait long nor ask a thousand times a second.
  const waited: number[] = [];
  wakeups.wait = (name, timeoutMs) => {
    waited.push(timeoutMs);
    return wait(name, timeoutMs);
  };
  expect((await test.call("GET", `/v1/authorize/${made.request_id}?wait=25`)).body.status).toBe("pending");
  expect(waited[0]).toBeGreaterThan(0);
  expect(waited[0]).toBeLessThanOrEqual(1_000);
});
