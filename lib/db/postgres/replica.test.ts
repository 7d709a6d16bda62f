/** When a standby is believed, with answers that are made up; lib/server/replicas.process.test.ts has real ones. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HttpContext } from "#lib/api/http/context";
import { readPublicly } from "#lib/api/http/response-cache";
import type { Database } from "#lib/db/client";
import { type Replica, watchReplica } from "./replica";

let nowMs: number;
let standby: { isStandby: boolean; isThere: boolean; leaf: string };
let isSilent: boolean;
let isGone: boolean;
let opened: number;
let closed: number;
let replica: Replica;

const rowsOf = (row: object) => ({ rows: [row as Record<string, unknown>] });
const isUsed = () => replica.fresh() !== null;

beforeEach(() => {
  nowMs = 0;
  standby = { isStandby: true, isThere: true, leaf: "aa" };
  [isSilent, isGone, opened, closed] = [false, false, 0, 0];
  const open = async () => {
    if (isGone) throw new Error("nobody is there");
    opened += 1;
    const query = async () => (isSilent ? new Promise<never>(() => {}) : rowsOf(standby));
    const close = async () => {
      closed += 1;
    };
    return { query, close } as unknown as Database;
  };
  const primary = { query: async () => rowsOf({ lsn: "0/1", logId: 1, size: 1, leaf: "aa" }) };
  const logger = { info: () => {}, warn: () => {} };
  replica = watchReplica({ primary, open, logger, clockMs: () => nowMs });
});
afterEach(() => replica.close());

it("is used while it was there within five seconds, and again when it has caught up", async () => {
  await expect.poll(isUsed).toBe(true);
  standby.isThere = false;
  // Earlier probes have been answered by then.
  await new Promise((resolve) => setTimeout(resolve, 0));
  nowMs += 5_000;
  expect(isUsed()).toBe(true);
  nowMs += 1;
  expect(isUsed()).toBe(false);
  standby.isThere = true;
  await expect.poll(isUsed).toBe(true);
});

it.each([
  ["promoted", { isStandby: false }],
  ["left behind by a failover, with other leaves", { leaf: "bb" }],
])("is not used when it was %s", async (_what, change) => {
  await expect.poll(isUsed).toBe(true);
  Object.assign(standby, change);
  await expect.poll(isUsed).toBe(false);
  expect(closed).toBeGreaterThan(0);
});

it("is given up when it is silent, with what was asked of it, and opened again when it is back", async () => {
  await expect.poll(isUsed).toBe(true);
  [isSilent, isGone] = [true, true];
  await expect.poll(isUsed).toBe(false);
  expect([opened, closed]).toEqual([1, 1]);
  [isSilent, isGone] = [false, false];
  await expect.poll(isUsed).toBe(true);
  expect(opened).toBe(2);
});

it("leaves to the primary what it fails at", async () => {
  const [primary, other] = [{}, {}] as [Database, Database];
  const context = { database: primary, replica: { fresh: () => other } } as unknown as HttpContext;
  const read = async ({ database }: HttpContext) => {
    if (database === other) throw new Error("not there");
    return "from the primary";
  };
  expect(await readPublicly(context, read)).toBe("from the primary");
});
