/**
 * Several processes of the service on one PostgreSQL. Each has a wire of its own to the database, so that it can be
 * killed (kill -9) at a chosen moment of its work and started again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestAnswer, TestCall } from "./app";
import { layWire, type Wire } from "./cut-connections";
import { createTestDatabase } from "./databases";
import { killStartedProcesses, noLimits, type ServerProcess, startServerProcess } from "./processes";

export interface Member {
  wire: Wire;
  /** Waits for a start that is under way; status 0 if the connection broke. */
  call(method: string, path: string, options?: TestCall): Promise<TestAnswer>;
  /** The signal is sent at once, and another process started; resolves when the first is gone. */
  kill(): Promise<void>;
  /** Resolves when it answers. */
  ready(): Promise<string>;
}

export interface Fleet {
  members: readonly Member[];
  /** Past the wires: for commands, and for what is looked up in the end. */
  settings: { DATABASE_URL: string; DATA_DIR: string };
  close(): Promise<void>;
}

async function callOver(url: string, method: string, path: string, options: TestCall): Promise<TestAnswer> {
  const headers = new Headers({ "content-type": "application/json", ...options.headers });
  if (options.key !== undefined) headers.set("authorization", `Bearer ${options.key}`);
  const body = options.body === undefined ? null : JSON.stringify(options.body);
  try {
    const response = await fetch(`${url}${path}`, { method, headers, body });
    return { status: response.status, headers: response.headers, body: await response.json() };
  } catch {
    return { status: 0, headers: new Headers(), body: null };
  }
}

async function startMember(settings: Fleet["settings"]): Promise<Member> {
  const wire = await layWire(settings.DATABASE_URL);
  const start = () => startServerProcess({ ...noLimits, ...settings, DATABASE_URL: wire.url });
  let server: Promise<ServerProcess> = start();
  let running: ServerProcess | null = await server;
  const ready = async () => (await server).url;
  return {
    wire,
    ready,
    call: async (method, target, options = {}) => callOver(await ready(), method, target, options),
    kill: async () => {
      const gone = running?.kill();
      if (gone === undefined) return;
      running = null;
      server = gone.then(start).then((next) => {
        running = next;
        return next;
      });
      await gone;
    },
  };
}

export async function startFleet(count: number): Promise<Fleet> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-fleet-"));
  const database = await createTestDatabase({ empty: true });
  const settings = { DATABASE_URL: database.url, DATA_DIR: folder };
  const members = await Promise.all(Array.from({ length: count }, () => startMember(settings)));
  return {
    members,
    settings,
    close: async () => {
      await Promise.allSettled(members.map(({ ready }) => ready()));
      killStartedProcesses();
      for (const { wire } of members) await wire.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
