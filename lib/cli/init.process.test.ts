/** `npm run init`: six answers, each checked as the doctor does, become a .env that the server takes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseEnv as parseEnvFile } from "node:util";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseEnv } from "#lib/env";
import { expectExit, runProgram } from "#support/commands";
import { createTestDatabase } from "#support/databases";
import { findPort } from "#support/ports";

const folder = mkdtempSync(path.join(tmpdir(), "countersign-init-"));
const file = path.join(folder, ".env");
const server = new SMTPServer({ authOptional: true, disabledCommands: ["STARTTLS"] });
let mail: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  const port = await findPort();
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  mail = `smtp://127.0.0.1:${port}`;
  database = await createTestDatabase();
});
beforeEach(() => rmSync(file, { force: true }));
afterAll(async () => {
  await new Promise<void>((done) => server.close(done));
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const init = (words: string[], input = "") =>
  runProgram(process.execPath, [path.resolve("dist/cli/init.mjs"), "--file", file, ...words], {
    env: { PATH: process.env["PATH"] },
    input,
  });
const written = () => parseEnvFile(readFileSync(file, "utf8"));

describe("options", () => {
  it("become settings that the server takes, beside those that were there, and nobody else may read them", async () => {
    writeFileSync(file, "# ours\nLOG_LEVEL=warn\nDATABASE_URL=postgres://old/old\nSIGN_UP=open\n");
    const done = await init([
      ...["--address", "https://countersign.example.com", "--database", database.url],
      ...["--mail", `${mail} no-reply@example.com`],
      ...["--sign-up", "example.com example.org", "--visibility", "public", "--unchecked"],
    ]);
    expectExit(done, 0);
    // The tests' own database is one that may lose what it acknowledged.
    expect(done.out).toContain("FAULT    database: fsync is off");
    expect(done.out).toContain("links lead to https://countersign.example.com");
    expect(done.out).toContain("127.0.0.1");
    expect(done.out).toContain("npm start");
    expect(readFileSync(file, "utf8")).toMatch(/^# ours\nLOG_LEVEL=warn\n/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(parseEnv(written())).toMatchObject({
      baseUrl: "https://countersign.example.com",
      TRUSTED_PROXY_HOPS: 1,
      DATABASE_URL: database.url,
      worldId: "none",
      mail: "smtp",
      SIGN_UP_DOMAINS: ["example.com", "example.org"],
      DEFAULT_VISIBILITY: "public",
      LOG_LEVEL: "warn",
    });
  });

  it("for compose.yaml keep the password of its database, and say how to start it", async () => {
    const words = ["--database", "compose"];
    const done = await init(words);
    expectExit(done, 0);
    expect(done.out).toContain("docker compose up --build --detach");
    const { POSTGRES_PASSWORD: password, TRIAL_MAIL } = written();
    expect([password, TRIAL_MAIL]).toEqual([expect.stringMatching(/^[0-9a-f]{48}$/), "1"]);
    expectExit(await init(words), 0);
    expect(written()["POSTGRES_PASSWORD"]).toBe(password);
    expectExit(await init(["--database", "embedded", "--mail", "mailbox"]), 0);
    expect(written()["POSTGRES_PASSWORD"]).toBeUndefined();
  });

  it("that a check finds wrong write nothing, unless they are to be written unchecked", async () => {
    const words = ["--database", "postgres://a:b@127.0.0.1:9/none"];
    const done = await init(words);
    expectExit(done, 1);
    expect(done.out).toMatch(/--database: .*\nNothing was written\. Mend it, or add --unchecked/);
    expect(existsSync(file)).toBe(false);
    expectExit(await init([...words, "--unchecked"]), 0);
    expect(written()["DATABASE_URL"]).toBe(words[1]);
  });

  it.each([
    [["--address", "countersign"], "--address: countersign is not an address, such as https://"],
    [
      ["--address", "https://a.example", "--mail", "mailbox"],
      "--mail: a mailbox is for this machine alone: give a mail server",
    ],
    [
      ["--database", "mysql://a/b"],
      "--database: DATABASE_URL: must be an address that begins with postgres://",
    ],
    [["--approvals", "app_1 rp_1"], "--approvals: passkeys is expected, or World ID's app"],
    [["--address", "https://a.example"], "--mail: a server and a sender are expected"],
    [["--mail", "smtp://a"], "--mail: a server and a sender are expected"],
    [["--database", "compose", "--mail", "mailbox"], "--mail: a container's mailbox can't be reached"],
    [["--sign-up", "somebody"], "--sign-up: SIGN_UP_DOMAINS: somebody is not a domain"],
    [["--visibility", "secret"], "--visibility: DEFAULT_VISIBILITY: must be private or public"],
    [["--proxies", "1"], "unknown option --proxies"],
  ])("that make no sense are refused in a sentence, with the usage: %j", async (words, says) => {
    const done = await init(words);
    expectExit(done, 2);
    expect(done.out).toContain(says);
    expect(done.out).toContain("usage: npm run init");
    expect(existsSync(file)).toBe(false);
  });
});

describe("questions", () => {
  it("are six, asked again after a wrong answer, with the usual one behind an empty line", async () => {
    const done = await init([], "countersign\n\n\npasskeys\n\ninvited\n\n");
    expectExit(done, 0);
    expect(done.out.match(/^\d\/6 /gm)).toEqual(["1/6 ", "1/6 ", "2/6 ", "3/6 ", "4/6 ", "5/6 ", "6/6 "]);
    expect(written()).toEqual({
      PUBLIC_BASE_URL: "http://localhost:3000",
      APPROVALS: "passkeys",
      SIGN_UP: "invited",
      DEFAULT_VISIBILITY: "private",
    });
  });

  it("offer no answer that is refused: a public address and a container have no mailbox", async () => {
    const open = await init([], "https://a.example\n\n\n\nmailbox\n");
    expect(open.out.match(/^\[mailbox\]|^> a server and a sender are|^> a mailbox is for this/gm)).toEqual([
      "> a server and a sender are",
      "> a mailbox is for this",
    ]);
    expect((await init([], "\ncompose\n\n\n\n\n")).out).toContain("[compose] warning  mail");
  });

  it("ask before a faulty answer is kept, and write nothing if they are left", async () => {
    const done = await init([], "\npostgres://a:b@127.0.0.1:9/none\nno\n");
    expectExit(done, 1);
    expect(done.out).toContain("Keep this answer all the same?");
    expect(done.out).toContain("Not all questions were answered, so nothing was written.");
    expect(existsSync(file)).toBe(false);
  });
});
