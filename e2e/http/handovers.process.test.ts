/** A connection goes to the process that its requests belong to, and nothing that is sent on it is lost. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { graceMs } from "#lib/api/http/listen";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { findHolders, listMembers } from "#support/process-family";
import { noLimits } from "#support/processes";
import { obtainKey, type ServerProcess, startServer } from "./server-process";

const inARow = 8;

/** Sends text, and reads one answer after the other. */
async function openConnection(port: number) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const closed = once(socket, "close");
  // One character per byte.
  socket.setEncoding("latin1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  const readAnswer = async () => {
    for (;;) {
      const [head = ""] = text.split("\r\n\r\n", 1);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
      const end = head.length + 4 + length;
      if (text.length >= end) {
        const answer = {
          status: Number(head.slice(9, 12)),
          body: JSON.parse(text.slice(head.length + 4, end)),
        };
        text = text.slice(end);
        return answer;
      }
      await Promise.race([once(socket, "data"), closed.then(() => Promise.reject(new Error("closed")))]);
    }
  };
  return { socket, closed, readAnswer, clientPort: socket.localPort ?? 0 };
}

type Connection = Awaited<ReturnType<typeof openConnection>>;

describe.skipIf(!databaseKinds.includes("postgres") || process.platform !== "linux")(
  "a connection of a server of several processes",
  () => {
    let server: ServerProcess;
    let dataDir: string;
    let drop = async () => {};
    let key: string;
    const first = () => server.child.pid ?? 0;
    const pidOf = (role: string) => listMembers(first()).find((one) => one.role === role)?.pid ?? 0;
    const holders = ({ clientPort }: Connection) => {
      const roles = new Map(listMembers(first()).map(({ pid, role }) => [pid, role]));
      const pids = findHolders([first(), ...roles.keys()], server.port, clientPort);
      return pids.map((pid) => roles.get(pid) ?? "first");
    };

    const text = (method: string, target: string, body = "") =>
      `${method} ${target} HTTP/1.1\r\nhost: localhost:${server.port}\r\nauthorization: Bearer ${key}\r\naccept: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const attestation = (action = "act") =>
      text("POST", "/v1/attest", JSON.stringify({ agent_slug: "mover", action, inputs_hash: "b" }));
    const ask = (connection: Connection, request: string) => {
      connection.socket.write(request);
      return connection.readAnswer();
    };
    const askOften = async (connection: Connection, request: () => string, times = inARow) => {
      const statuses: number[] = [];
      for (let i = 0; i < times; i += 1) statuses.push((await ask(connection, request())).status);
      return statuses;
    };
    const readKeys = () => text("GET", "/v1/pubkey");
    const times = (status: number, count = inARow) => Array(count).fill(status);

    /** One that this process accepts, as soon as it does. */
    const openIn = (role: string) =>
      vi.waitFor(
        async () => {
          const connection = await openConnection(server.port);
          await ask(connection, readKeys());
          if (holders(connection).includes(role)) return connection;
          connection.socket.destroy();
          throw new Error(`the ${role} has accepted no connection`);
        },
        { timeout: 60_000, interval: 20 },
      );

    async function openMoved(): Promise<Connection> {
      const connection = await openIn("reader");
      const askOnce = async () => {
        await ask(connection, attestation());
        return holders(connection);
      };
      await expect.poll(askOnce).toEqual(["writer"]);
      return connection;
    }

    beforeAll(async () => {
      dataDir = await mkdtemp(path.join(tmpdir(), "handovers-"));
      const database = await createTestDatabase();
      drop = database.drop;
      const settings = { ...noLimits, TMPDIR: dataDir, DATABASE_URL: database.url, PROCESSES: "2" };
      server = await startServer("server", dataDir, settings);
      key = await obtainKey(server.base);
    });
    afterAll(async () => {
      await server?.stop("SIGKILL");
      await drop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    });

    it("goes to the writer after eight requests for it and back after eight others, with its client's address", async () => {
      const connection = await openIn("reader");
      expect(await askOften(connection, attestation, inARow - 1)).toEqual(times(201, inARow - 1));
      await ask(connection, readKeys());
      expect(await askOften(connection, attestation, inARow - 1)).toEqual(times(201, inARow - 1));
      expect(holders(connection)).toEqual(["reader"]);
      await ask(connection, attestation());
      await expect.poll(() => holders(connection)).toEqual(["writer"]);
      const whole = attestation("in pieces");
      for (const piece of [whole.slice(0, 40), whole.slice(40, -10)]) connection.socket.write(piece);
      expect((await ask(connection, whole.slice(-10))).status).toBe(201);
      // Only this machine may read it.
      expect((await ask(connection, text("GET", "/dev/mailbox"))).status).toBe(200);
      expect(await askOften(connection, readKeys, inARow - 1)).toEqual(times(200, inARow - 1));
      await expect.poll(() => holders(connection)).toEqual(["reader"]);
      expect(await askOften(connection, attestation)).toEqual(times(201));
      await expect.poll(() => holders(connection)).toEqual(["writer"]);
      connection.socket.destroy();
    });

    it("stays in the writer that accepted it, whatever it brings", async () => {
      const connection = await openIn("writer");
      await askOften(connection, readKeys, 2 * inARow);
      expect(holders(connection)).toEqual(["writer"]);
      connection.socket.destroy();
    });

    it("stays while a request has begun on it, or another is under way", async () => {
      const connection = await openIn("reader");
      await askOften(connection, attestation, inARow - 1);
      const next = attestation("begun");
      const ninth = await ask(connection, `${attestation()}${next.slice(0, 60)}`);
      expect([ninth.status, holders(connection)]).toEqual([201, ["reader"]]);
      const many = Array.from({ length: inARow }, () => attestation()).join("");
      connection.socket.write(`${next.slice(60)}${many}`);
      const indexes: number[] = [];
      for (let i = 0; i <= inARow; i += 1) indexes.push((await connection.readAnswer()).body.log.index);
      expect(indexes.map((index) => index - (indexes[0] ?? 0))).toEqual(indexes.map((_, i) => i));
      expect((await ask(connection, attestation())).status).toBe(201);
      await expect.poll(() => holders(connection)).toEqual(["writer"]);
      connection.socket.destroy();
    });

    it("goes on where it was if the process that should take it is killed", async () => {
      const connection = await openMoved();
      const reader = pidOf("reader");
      process.kill(reader, "SIGSTOP");
      expect(await askOften(connection, readKeys)).toEqual(times(200));
      await expect.poll(() => holders(connection)).toContain("first");
      const waiting = ask(connection, readKeys());
      process.kill(reader, "SIGKILL");
      expect((await waiting).status).toBe(200);
      expect(holders(connection)).toEqual(["writer"]);
      connection.socket.destroy();
    });

    it("goes on where it was if a process on its way can open no more files, and that process gets others later", async () => {
      const connection = await openIn("reader");
      await askOften(connection, attestation, inARow - 1);
      const writer = pidOf("writer");
      const limitFiles = (files: number, pid = writer) =>
        execFileSync("prlimit", [`--pid=${pid}`, `--nofile=${files}:`]);
      limitFiles(3, first());
      expect(await askOften(connection, attestation)).toEqual(times(201));
      limitFiles(4096, first());
      limitFiles(3);
      expect(await askOften(connection, attestation, 2)).toEqual(times(201, 2));
      expect(holders(connection)).toEqual(["reader"]);
      // Each process is given one of them.
      const accepted = await Promise.all([openConnection(server.port), openConnection(server.port)]);
      const answers = accepted.map((one) => ask(one, readKeys()).then(({ status }) => status));
      expect((await Promise.allSettled(answers)).map(({ status }) => status).sort()).toEqual([
        "fulfilled",
        "rejected",
      ]);
      limitFiles(4096);
      (await openIn("writer")).socket.destroy();
      await askOften(connection, attestation);
      await expect.poll(() => holders(connection)).toEqual(["writer"]);
      expect(pidOf("writer")).toBe(writer);
      for (const { socket } of [connection, ...accepted]) socket.destroy();
    });

    it("is closed when the process that took it is killed; others stay where they are while there is no writer", async () => {
      const moved = await openMoved();
      const other = await openIn("reader");
      process.kill(pidOf("writer"), "SIGKILL");
      await moved.closed;
      const statuses = await askOften(other, attestation, 2 * inARow);
      // The first may have been sent to the killed one.
      expect(statuses.slice(1)).toEqual(times(201, 2 * inARow - 1));
      other.socket.destroy();
    });

    it("is closed at a stop, also if it has brought nothing since it was taken", async () => {
      (await openIn("writer")).socket.destroy();
      const connection = await openIn("reader");
      await askOften(connection, attestation);
      await expect.poll(() => holders(connection)).toEqual(["writer"]);
      const beganMs = performance.now();
      await server.stop();
      await connection.closed;
      expect([server.child.exitCode, performance.now() - beganMs < graceMs]).toEqual([0, true]);
    });
  },
);
