/** Starting, stopping and starting again: locks, keys and what survives. */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { copyEmbeddedTemplate } from "#support/databases";
import { callServer, obtainKey, type ServerProcess, startServer } from "./server-process";

const body = { agent_slug: "start", action: "a", inputs_hash: "b" };

describe("a server's start", () => {
  let dataDir: string;
  const running: ServerProcess[] = [];
  const start = async (settings: Record<string, string> = {}) => {
    const server = await startServer("server", dataDir, settings);
    running.push(server);
    return server;
  };
  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), "countersign-start-"));
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop("SIGKILL");
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  });

  it("keeps data and keys through a stop and a kill -9, in files for its user alone", async () => {
    await copyEmbeddedTemplate(dataDir);
    const first = await start();
    const key = await obtainKey(first.base);
    const settings = { PORT: String(first.port) };
    const made = await callServer(first.base, "POST", "/v1/attest", { key, body });
    for (const name of await readdir(path.join(dataDir, "keys")))
      expect([name, ((await stat(path.join(dataDir, "keys", name))).mode & 0o777).toString(8)]).toEqual([
        name,
        "600",
      ]);
    expect(await readdir(path.join(dataDir, "keys"))).toEqual(
      expect.arrayContaining(["auth-secret", "log-signing-key", "signing-key", "zk-signing-key"]),
    );
    await first.stop();
    expect(first.child.exitCode, first.output()).toBe(0);
    const second = await start(settings);
    const again = await callServer(second.base, "GET", `/v1/verify/${made.body.attestation_id}`);
    expect([again.body.valid, again.body.key_id]).toEqual([true, made.body.key_id]);
    const ids: string[] = [];
    const load = Array.from({ length: 30 }, () =>
      callServer(second.base, "POST", "/v1/attest", { key, body }).then(
        (answer) => void (answer.status === 201 && ids.push(answer.body.attestation_id)),
        () => {},
      ),
    );
    await vi.waitFor(() => expect(ids.length).toBeGreaterThanOrEqual(3), { timeout: 60_000 });
    await second.stop("SIGKILL");
    await Promise.all(load);
    const third = await start(settings);
    for (const id of ids)
      expect((await callServer(third.base, "GET", `/v1/verify/${id}`)).body.valid).toBe(true);
  });

  it("is refused to a second process on the folder, and on a port in use, with what to do", async () => {
    await copyEmbeddedTemplate(dataDir);
    const first = await start();
    const second = await start();
    await second.stop();
    expect([second.child.exitCode, second.output()]).toEqual([
      1,
      expect.stringContaining("another process is using the embedded database"),
    ]);
    expect(second.output()).toMatch(/DATA_DIR|DATABASE_URL/);
    const otherDir = await mkdtemp(path.join(tmpdir(), "countersign-start-"));
    await copyEmbeddedTemplate(otherDir);
    const third = await startServer("server", otherDir, { PORT: String(first.port) });
    await third.exited;
    await rm(otherDir, { recursive: true, force: true });
    expect(third.output()).toContain(`PORT ${first.port} is in use`);
    expect((await callServer(first.base, "GET", "/v1/health")).status).toBe(200);
  });

  it("is refused with a lost or foreign key, which the message names", async () => {
    await copyEmbeddedTemplate(dataDir);
    const first = await start();
    await first.stop();
    const file = path.join(dataDir, "keys", "signing-key");
    await rm(file);
    const lost = await start();
    await lost.stop();
    expect([lost.child.exitCode, lost.output()]).toEqual([
      1,
      expect.stringContaining("attestation key is missing"),
    ]);
    await writeFile(file, Buffer.alloc(32, 1).toString("base64"));
    const foreign = await start();
    await foreign.stop();
    expect([foreign.child.exitCode, foreign.output()]).toEqual([
      1,
      expect.stringContaining("is not the active one"),
    ]);
    expect(foreign.output()).toContain("SIGNING_KEY");
  });

  it("is refused on a public address without its settings, which are named", async () => {
    const open = await start({ PUBLIC_BASE_URL: "https://countersign.example" });
    await open.stop();
    expect(open.child.exitCode, open.output()).toBe(1);
    for (const name of ["WORLD_APP_ID", "RESEND_API_KEY", "SMTP_URL"]) expect(open.output()).toContain(name);
    expect(await readdir(dataDir)).toEqual([]);
  });
});
