/** Mistakes in DATABASE_URL: each ends in words with what to do, soon enough, and without the password. */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import postgres from "postgres";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openDatabase } from "#lib/db/embedded/embedded";
import { inTime } from "#lib/in-time";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { explainDatabase, startLockKey } from "./first-connection";

const written = vi.hoisted(() => [] as string[]);
vi.mock("#lib/logger", () => ({ logger: { info: (line: string) => void written.push(line) } }));

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  return `postgres://u:secret-word@127.0.0.1:${(server.address() as AddressInfo).port}/x`;
}

/** Returns the start's message; more than 15 seconds are a failure. */
async function refusal(databaseUrl: string): Promise<string> {
  const opening = openDatabase({ databaseUrl, dataDir: "" }).then(
    ({ close }) => close().then(() => "it starts"),
    ({ message }: Error) => message,
  );
  const said = await inTime(opening, 15_000);
  expect(said).not.toContain("secret-word");
  return said;
}

describe("DATABASE_URL leads to", () => {
  it("an HTTP server", async () => {
    const url = await listen(createHttpServer((_, answer) => answer.end()));
    expect(await refusal(url)).toMatch(
      /^Countersign cannot start: the database of DATABASE_URL at 127\.0\.0\.1:\d+ can't be used: something answers there that isn't PostgreSQL .*Correct DATABASE_URL/,
    );
  });

  it("what accepts and resets", async () => {
    const url = await listen(createServer((socket) => socket.resetAndDestroy()));
    expect(await refusal(url)).toMatch(
      /it closes each connection before it has answered .*read that server's log/,
    );
  });

  it("what accepts and is silent", async () => {
    const sockets = new Set<{ destroy(): void }>();
    const url = await listen(createServer((socket) => sockets.add(socket.on("error", () => {}))));
    closers.push(() => {
      for (const socket of sockets) socket.destroy();
    });
    expect(await refusal(url)).toMatch(
      /it doesn't answer \(CONNECT_TIMEOUT\)\. Check DATABASE_URL, the network/,
    );
  });

  it("nothing, or a host that nobody knows", async () => {
    expect(await refusal("postgres://u:secret-word@127.0.0.1:1/x")).toMatch(
      /at 127\.0\.0\.1:1 can't be used: nothing listens there \(ECONNREFUSED\)\. Start PostgreSQL/,
    );
    expect(await refusal("postgres://u:secret-word@nobody.invalid/x")).toMatch(
      /at nobody\.invalid:5432 can't be used: no such host is known/,
    );
  });
});

it("names the variable that is wrong", async () => {
  const error = Object.assign(new Error("x", { cause: { code: "28P01" } }), { code: "CERT_HAS_EXPIRED" });
  const found = await explainDatabase(error, "postgres://h/x", "DATABASE_LISTEN_URL");
  expect(found?.says).toBe(
    "the database of DATABASE_LISTEN_URL at h:5432 can't be used: its certificate isn't trusted (CERT_HAS_EXPIRED)",
  );
  expect(found?.mend).toContain("sslmode in DATABASE_LISTEN_URL");
  expect(await explainDatabase(new Error("about something else"), "postgres://h/x")).toBeNull();
});

describe.skipIf(!databaseKinds.includes("postgres"))("a PostgreSQL", () => {
  async function open() {
    const database = await createTestDatabase({ empty: true });
    const admin = postgres(database.url, { max: 1, onnotice: () => {} });
    closers.push(database.drop, () => admin.end());
    const name = new URL(database.url).pathname.slice(1);
    return { ...database, admin, name };
  }

  it("has no such database, or does not know the user", async () => {
    const { url } = await open();
    expect(await refusal(Object.assign(new URL(url), { pathname: "/nowhere" }).href)).toMatch(
      /there is no such database \(3D000\)\. Create it \(createdb NAME\)/,
    );
    const stranger = Object.assign(new URL(url), { username: "stranger", password: "secret-word" });
    expect(await refusal(stranger.href)).toMatch(
      /it refuses this user or password \(28\w+\)\. Correct DATABASE_URL/,
    );
  });

  it("gives the role no right to create", async () => {
    const { url, admin, name } = await open();
    await admin.unsafe(`CREATE ROLE ${name}_role LOGIN PASSWORD 'secret-word'`);
    const limited = Object.assign(new URL(url), { username: `${name}_role`, password: "secret-word" });
    expect(await refusal(limited.href)).toMatch(
      /this role lacks a right that the service needs \(42501\)\. Make the role the owner/,
    );
    await admin.unsafe(`DROP ROLE ${name}_role`);
  });

  it("is read-only", async () => {
    const { url, admin, name } = await open();
    await admin.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await refusal(url)).toMatch(
      /it is read-only.*\(25006\)\. Give DATABASE_URL the address of the primary/,
    );
  });

  it("lets another process start first, and the start says so while it waits", async () => {
    const { url, admin } = await open();
    let letGo = () => {};
    const isHeld = new Promise<void>((held) => {
      void admin.begin(async (tx) => {
        await tx`SELECT pg_advisory_xact_lock(${startLockKey})`;
        held();
        await new Promise<void>((resolve) => (letGo = resolve));
      });
    });
    await isHeld;
    const starting = openDatabase({ databaseUrl: url, dataDir: "" });
    await expect
      .poll(() => written)
      .toContainEqual(
        expect.stringMatching(/waited \d+ s for another process that is starting on this database/),
      );
    letGo();
    await (await starting).close();
  });
});
