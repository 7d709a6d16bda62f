/** One server of several processes: what holds with one holds with all of them, and each may be killed. */
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { checkEverything, startLoad } from "#support/load";
import { findPort } from "#support/ports";
import { type Client, listMembers, openClients } from "#support/process-family";
import { noLimits } from "#support/processes";
import { callServer, obtainKey, type ServerProcess, startServer } from "./server-process";

const body = (action: string, agent_slug = "family") => ({ agent_slug, action, inputs_hash: "b" });
const perMinute = 7;
const apiCount = 3;

describe.skipIf(!databaseKinds.includes("postgres") || process.platform !== "linux")(
  "a server of several processes",
  () => {
    let server: ServerProcess;
    let dataDir: string;
    let settings: Record<string, string>;
    let drop = async () => {};
    let key: string;
    const members = (role: string) =>
      listMembers(server.child.pid ?? 0).filter((member) => member.role === role);
    const pidOf = (role: string) => members(role)[0]?.pid ?? 0;
    const socketFolders = async () =>
      (await readdir(dataDir)).filter((name) => name.startsWith("countersign-family-"));
    const inEach = <T>(clients: Client[], work: (client: Client) => Promise<T>) =>
      Promise.all(clients.map(work));
    const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);
    /** Each process that has signed a head has a file of its own. */
    const countSigners = async () => (await readdir(path.join(dataDir, "log-guard"))).length;
    const settledOf = async (outcomes: Promise<string>[]) => {
      const known = await Promise.all(outcomes.map((one) => Promise.race([one, Promise.resolve("waiting")])));
      return known.filter((one) => one !== "waiting");
    };
    /** Meant to fail; stopped in the end if it did not. */
    const beside: (typeof server)[] = [];
    const startBeside = async (own: typeof settings, launcher: string[] = []) => {
      const started = await startServer("server", dataDir, own, launcher);
      beside.push(started);
      return started;
    };
    const isReplaced = (pid: number) =>
      vi.waitFor(
        async () => {
          expect(listMembers(server.child.pid ?? 0).map((one) => one.pid)).not.toContain(pid);
          expect(members("writer").length + members("reader").length).toBe(apiCount);
          return openClients(server);
        },
        { timeout: 60_000, interval: 500 },
      );

    beforeAll(async () => {
      dataDir = await mkdtemp(path.join(tmpdir(), "several-"));
      const database = await createTestDatabase();
      drop = database.drop;
      settings = {
        ...noLimits,
        // Other tests' servers have folders for their sockets too.
        TMPDIR: dataDir,
        DATABASE_URL: database.url,
        PROCESSES: String(apiCount),
        METRICS_PORT: String(await findPort()),
        LIMIT_AUTHORIZE_PER_MINUTE: String(perMinute),
        LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
      };
      server = await startServer("server", dataDir, settings);
      key = await obtainKey(server.base);
    });
    afterAll(async () => {
      for (const one of [...beside, server]) await one?.stop("SIGKILL");
      await drop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    });

    const listRoles = () =>
      listMembers(server.child.pid ?? 0)
        .map(({ role }) => role)
        .sort();

    it("answers from all of them on one port, and says once that it listens, when all do", async () => {
      expect((await openClients(server)).map(({ member }) => member.role)).toEqual([
        "writer",
        "reader",
        "reader",
      ]);
      expect((await callServer(server.base, "GET", "/")).status).toBe(200);
      expect(listRoles()).toEqual(["pages", "reader", "reader", "writer"]);
      expect(server.output().match(/Countersign is listening/g)).toHaveLength(1);
    });

    it("appends to the log in one of them alone, whichever was asked", async () => {
      const clients = await openClients(server);
      const attest = (client: Client) =>
        client.call("POST", "/v1/attest", { key, body: body(`by ${client.member.pid}`) });
      const answers = [...(await inEach(clients, attest)), ...(await inEach(clients, attest))];
      expect(statuses(answers)).toEqual([201, 201, 201, 201, 201, 201]);
      const indexes = answers.map((answer) => answer.body.log.index).sort((a, b) => a - b);
      expect(indexes).toEqual(indexes.map((_, i) => indexes[0] + i));
      const proven = { ...body("with a proof"), enable_zk: true };
      const withProof = await clients.at(-1)?.call("POST", "/v1/attest", { key, body: proven });
      expect([withProof?.status, withProof?.body.has_zk_proof]).toEqual([201, true]);
      // While the proof was made, the server may have closed connections that nobody used.
      for (const client of await openClients(server)) {
        const read = await client.call("GET", `/v1/verify/${withProof?.body.attestation_id}`);
        expect([read.status, read.body.valid]).toEqual([200, true]);
      }
      expect(await countSigners()).toBe(1);
    });

    it("refuses a revoked key in all of them at once", async () => {
      const key = await obtainKey(server.base, "revoked@example.com");
      const clients = await openClients(server);
      const attest = (client: Client) =>
        client.call("POST", "/v1/attest", { key, body: body("before", "revoked") });
      const info = (client: Client) => client.call("GET", "/v1/keys/info", { key });
      expect(statuses(await inEach(clients, attest))).toEqual([201, 201, 201]);
      expect(statuses(await inEach(clients, info))).toEqual([200, 200, 200]);
      expect((await clients[1]?.call("DELETE", "/v1/keys", { key }))?.status).toBe(200);
      expect(statuses(await inEach(clients, attest))).toEqual([401, 401, 401]);
      expect(statuses(await inEach(clients, info))).toEqual([401, 401, 401]);
    });

    it("wakes who waits in any of them for a decision that another one takes", async () => {
      const clients = await openClients(server);
      const asked = await clients[0]?.call("POST", "/v1/authorize", { key, body: body("wait") });
      const target = `/v1/authorize/${asked?.body.request_id}`;
      let woken = 0;
      const waiting = inEach(clients, async (client) => {
        const answer = await client.call("GET", `${target}?wait=25`, { key });
        woken += 1;
        return answer.body.status;
      });
      const others = await openClients(server);
      expect((await others.at(-1)?.call("DELETE", target, { key }))?.status).toBe(200);
      // Long before the wait is over.
      await vi.waitFor(() => expect(woken).toBe(apiCount), { timeout: 20_000 });
      expect(await waiting).toEqual(["cancelled", "cancelled", "cancelled"]);
      // The decision was asked of a reader and appended by the writer.
      expect(await countSigners()).toBe(1);
    });

    it("keeps the stand-in's bridge and the mailbox for all of them", async () => {
      const clients = await openClients(server);
      const [first, ...others] = clients;
      const sealed = { iv: "AAAAAAAAAAAAAAAA", payload: "AAAA" };
      const left = await first?.call("POST", "/request", { body: sealed });
      const there = await inEach(others, (client) =>
        client.call("HEAD", `/request/${left?.body.request_id}`),
      );
      expect([left?.status, ...statuses(there)]).toEqual([200, 200, 200]);
    });

    it("answers the API while the process that makes pages stands still, and the page afterwards", async () => {
      const clients = await openClients(server);
      const pages = pidOf("pages");
      process.kill(pages, "SIGSTOP");
      try {
        let isMade = false;
        const page = callServer(server.base, "GET", "/docs").finally(() => {
          isMade = true;
        });
        const pubkeys = await inEach(clients, (client) => client.call("GET", "/v1/pubkey"));
        expect(statuses(pubkeys)).toEqual([200, 200, 200]);
        expect(isMade).toBe(false);
        process.kill(pages, "SIGCONT");
        expect((await page).status).toBe(200);
      } finally {
        process.kill(pages, "SIGCONT");
      }
    });

    it("replaces the process that makes pages, which then makes the page under way; a form under way gets 503 with Retry-After", async () => {
      const clients = await openClients(server);
      const pages = pidOf("pages");
      process.kill(pages, "SIGSTOP");
      const page = callServer(server.base, "GET", "/");
      const form = callServer(server.base, "POST", "/", { headers: { origin: server.base }, body: {} });
      const readPubkeys = () => inEach(clients, (client) => client.call("GET", "/v1/pubkey"));
      expect(statuses(await readPubkeys())).toEqual([200, 200, 200]);
      process.kill(pages, "SIGKILL");
      const refused = await form;
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("2");
      expect(refused.body).toContain("Try again in 2 seconds");
      expect(statuses(await readPubkeys())).toEqual([200, 200, 200]);
      expect((await page).status).toBe(200);
      expect((await callServer(server.base, "GET", "/")).status).toBe(200);
    });

    it.each(["writer", "reader"])(
      "replaces a killed %s; nothing acknowledged is lost or doubled",
      async (role) => {
        const load = startLoad(server.base, key, 6);
        await load.reach(20);
        const killed = pidOf(role);
        process.kill(killed, "SIGKILL");
        await load.reach(load.receipts.length + 20);
        await load.stop();
        // Cut connections, and answers that say that the outcome is not known.
        for (const status of load.failures) expect([0, 503]).toContain(status);
        await isReplaced(killed);
        await checkEverything(server.base, load.receipts);
        const clients = await openClients(server);
        const attest = (client: Client) => client.call("POST", "/v1/attest", { key, body: body("after") });
        expect(statuses(await inEach(clients, attest))).toEqual([201, 201, 201]);
      },
    );

    it("cuts a connection that was on its way to a process that is killed, so that its client can ask again", async () => {
      const killed = pidOf("reader");
      process.kill(killed, "SIGSTOP");
      const outcomes = Array.from({ length: 2 * apiCount }, async () => {
        const socket = connect(server.port, "127.0.0.1");
        socket.write(
          `GET /v1/health HTTP/1.1\r\nhost: localhost:${server.port}\r\nconnection: close\r\n\r\n`,
        );
        const data = once(socket, "data").then(() => "answered");
        return Promise.race([data, once(socket, "close").then(() => "cut")]).catch(() => "cut");
      });
      // The process that stands still has taken one at most.
      await vi.waitFor(async () => expect((await settledOf(outcomes)).length).toBeGreaterThan(apiCount), {
        timeout: 60_000,
      });
      process.kill(killed, "SIGKILL");
      expect(await Promise.all(outcomes)).toContain("cut");
      await isReplaced(killed);
    });

    it("answers what is under way when it is stopped, ends with all its processes, and starts again", async () => {
      expect(await socketFolders()).toHaveLength(1);
      const children = listMembers(server.child.pid ?? 0).map(({ pid }) => pid);
      const text = JSON.stringify(body("under way"));
      const head = `POST /v1/attest HTTP/1.1\r\nhost: localhost:${server.port}\r\nauthorization: Bearer ${key}\r\ncontent-length: ${text.length}\r\n\r\n`;
      const under = Array.from({ length: 6 }, () => connect(server.port, "127.0.0.1"));
      for (const socket of under) {
        await once(socket, "connect");
        socket.write(`${head}${text.slice(0, 10)}`);
      }
      // Begun in all of them: the second half comes when nobody else is let in.
      await inEach(await openClients(server), (client) => client.call("GET", "/v1/pubkey"));
      const stopped = server.stop();
      // Newcomers are refused, or wait in the kernel's queue of a process that accepts no more.
      const isLetIn = () =>
        fetch(`${server.base}/v1/health`, { signal: AbortSignal.timeout(1_000) }).then(
          () => true,
          () => false,
        );
      await expect.poll(isLetIn).toBe(false);
      const answers = under.map(async (socket) => {
        socket.write(text.slice(10));
        const [first] = await Promise.race([once(socket, "data"), once(socket, "close")]);
        return String(first).split("\r\n")[0];
      });
      expect(await Promise.all(answers)).toEqual(under.map(() => "HTTP/1.1 201 Created"));
      await stopped;
      expect(server.child.exitCode, server.output()).toBe(0);
      for (const pid of children) expect(() => process.kill(pid, 0)).toThrow();
      expect(await socketFolders()).toEqual([]);
      server = await startServer("server", dataDir, settings);
      expect((await callServer(server.base, "GET", "/v1/health")).status).toBe(200);
    });

    it("answers a page that waits for its process when it is stopped", async () => {
      const page = callServer(server.base, "GET", "/");
      await vi.waitFor(() => expect(listRoles()).toContain("pages"), { timeout: 60_000 });
      await server.stop();
      expect([200, 503]).toContain((await page).status);
      expect(server.child.exitCode, server.output()).toBe(0);
      server = await startServer("server", dataDir, settings);
    });

    it("starts the process that makes pages once, for the first who ask for one", async () => {
      expect(listRoles()).toEqual(["reader", "reader", "writer"]);
      const readUp = async () => {
        const metrics = await (await fetch(`http://127.0.0.1:${settings["METRICS_PORT"]}/metrics`)).text();
        return metrics.match(/(?<=^countersign_process_up\{process=").*/gm)?.sort();
      };
      const answering = ['reader-1"} 1', 'reader-2"} 1', 'writer"} 1'];
      await expect.poll(readUp).toEqual(answering);
      const clients = await openClients(server);
      const pages = await inEach(clients, (client) => client.call("GET", "/docs"));
      expect(statuses(pages)).toEqual([200, 200, 200]);
      expect(listRoles()).toEqual(["pages", "reader", "reader", "writer"]);
      await expect.poll(readUp).toEqual(['pages"} 1', ...answering]);
    });

    it("does not start if one of its processes cannot, and says why once", async () => {
      const second = await startBeside({ ...settings, PORT: String(server.port) });
      await second.exited;
      expect(second.child.exitCode).toBe(1);
      expect(second.output().match(/PORT \d+ is in use/g)).toHaveLength(1);
      expect(second.output()).not.toContain("is listening");
      const nowhere = { ...settings, DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
      const third = await startBeside(nowhere);
      await third.exited;
      expect(third.child.exitCode).toBe(1);
      expect(third.output().match(/nothing listens there/g)?.length).toBeGreaterThan(0);
      const children = "/proc/$!/task/$!/children";
      const kill = `"$@" & until grep -q . ${children}; do sleep 0.1; done; kill -9 $(cat ${children}); wait $!`;
      const fourth = await startBeside(settings, ["sh", "-c", kill, "sh"]);
      await fourth.exited;
      expect(fourth.child.exitCode).toBe(1);
      expect(fourth.output().match(/it was killed, perhaps for want of memory/g)).toHaveLength(1);
    });

    it("replaces a process that is killed while the server only says that it will stop", async () => {
      await server.stop();
      server = await startServer("server", dataDir, { ...settings, STOP_DELAY_SECONDS: "300" });
      server.child.kill("SIGTERM");
      await expect.poll(async () => (await callServer(server.base, "GET", "/v1/health")).status).toBe(503);
      const killed = pidOf("writer");
      process.kill(killed, "SIGKILL");
      await expect.poll(() => members("writer").map(({ pid }) => pid !== killed)).toEqual([true]);
      await server.stop();
      expect(server.child.exitCode, server.output()).toBe(0);
    });
  },
);
