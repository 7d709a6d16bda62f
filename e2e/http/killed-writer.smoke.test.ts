/** The built service under load: the process that writes the log is killed, and the same log goes on. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { anyKind, copyEmbeddedTemplate, createTestDatabase } from "#support/databases";
import { checkEverything, type KeptReceipt, startLoad } from "#support/load";
import { listMembers } from "#support/process-family";
import { noLimits } from "#support/processes";
import { callServer, obtainKey, type ServerProcess, startServer } from "./server-process";

/** With the embedded database one process does everything, as it does where no process can be listed. */
const isFamily = anyKind === "postgres" && process.platform === "linux";

let dataDir: string;
let settings: Record<string, string>;
let server: ServerProcess;
let drop = async () => {};
beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "killed-writer-"));
  settings = { ...noLimits, TMPDIR: dataDir, PROCESSES: isFamily ? "2" : "1" };
  if (anyKind === "postgres") {
    const database = await createTestDatabase();
    drop = database.drop;
    settings["DATABASE_URL"] = database.url;
  } else {
    await copyEmbeddedTemplate(dataDir);
  }
  server = await startServer("server", dataDir, settings);
});
afterAll(async () => {
  await server?.stop("SIGKILL");
  await drop();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
});

async function killWriter(): Promise<void> {
  if (isFamily) {
    const writer = listMembers(server.child.pid ?? 0).find(({ role }) => role === "writer");
    process.kill(writer?.pid ?? 0, "SIGKILL");
    return;
  }
  await server.stop("SIGKILL");
  server = await startServer("server", dataDir, settings);
}

it("keeps all that it acknowledged when its writer is killed, and goes on in the same log", async () => {
  const readKeys = async () => (await callServer(server.base, "GET", "/v1/pubkey")).body.log;
  const key = await obtainKey(server.base);
  const receipts: KeptReceipt[] = [];
  const attest = async (count: number, meanwhile?: () => Promise<void>) => {
    const load = startLoad(server.base, key, 4);
    await load.reach(count);
    await meanwhile?.();
    await load.stop();
    // A cut connection, or an answer that says that the outcome is not known.
    for (const status of load.failures) expect([0, 503]).toContain(status);
    receipts.push(...load.receipts);
  };
  const before = await readKeys();
  await attest(20, killWriter);
  await expect.poll(async () => (await callServer(server.base, "GET", "/v1/health")).status).toBe(200);
  await attest(20);
  expect(await readKeys()).toMatchObject({ vkey: before.vkey });
  expect((await checkEverything(server.base, receipts)).size).toBeGreaterThanOrEqual(receipts.length);
  const { body } = await callServer(server.base, "GET", `/v1/verify/${receipts[0]?.id}`);
  expect(body).toMatchObject({ valid: true });
});
