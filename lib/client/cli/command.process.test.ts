/** The command line: each command against the service, its output, and its exit codes. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashInputs } from "#lib/client/api/inputs";
import { approveUnproven, expireRequest, openRequest } from "#support/authorizations";
import { type Fetch, fetchFrom, quietRuntime } from "#support/client";
import { runProgram } from "#support/commands";
import { enrolGroup } from "#support/enrol";
import { runClientHere } from "#support/hook-process";
import { type Listening, listenFor } from "#support/listen";
import { setupTestApp } from "#support/setup-app";

const program = path.resolve("dist/countersign.mjs");

const { test, key } = setupTestApp();
let folder: string;
const inFolder = (name: string) => path.join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "countersign-command-"));
  await writeFile(inFolder("inputs.json"), '{"to": "Example Ltd", "amount": {"value": 100}}');
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const inputs = { to: "Example Ltd", amount: { value: 100 } };

interface Surroundings {
  apiKey?: string | undefined;
  serviceUrl?: string | undefined;
  fetch?: Fetch;
  stdin?: string;
}

/** Runs it in this process: exit code, standard output, standard error. */
const run = (argv: string[], { stdin = "", fetch = fetchFrom(test), ...around }: Surroundings = {}) =>
  runClientHere(argv, {
    apiKey: key,
    serviceUrl: "http://localhost:3000",
    runtime: quietRuntime(),
    ...around,
    fetch: fetch as typeof globalThis.fetch,
    readStdin: async () => new TextEncoder().encode(stdin),
  });

const lines = (out: string) =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

async function runForJson(...argv: string[]) {
  const ran = await run([...argv, "--json"]);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  return JSON.parse(ran.out);
}

describe("attest", () => {
  it("prints the receipt in words, or as it was answered", async () => {
    const said = await run(["attest", "cli-bot", "Paid", "--inputs", inFolder("inputs.json"), "--private"]);
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toMatch(/^Attested\.\n {2}attestation +[0-9a-f-]{36}\n/);
    expect(said.out).toContain(hashInputs(inputs));
    const odd = await run(["attest", "cli-bot", "Paid \u001b[2J", "--inputs-hash", "a"]);
    expect(odd.out).toMatch(/action +Paid ⟨U\+001B⟩\[2J\n/);
    const made = await runForJson(
      "attest",
      "cli-bot",
      "Paid",
      "--inputs-hash",
      "sha256:abc",
      "--tool=pay",
      "--zk",
    );
    expect(made).toMatchObject({
      inputs_hash: "sha256:abc",
      tools_used: ["pay"],
      has_zk_proof: true,
      is_public: true,
    });
  });

  it("records each line of a file, and says which were refused", async () => {
    const line = (more: object) =>
      `${JSON.stringify({ agent_slug: "cli-bot", action: "Step", inputs_hash: "a", ...more })}\n`;
    const stdin = `${line({})}\n${line({ action: "" })}${line({ tools_used: ["pay"] })}`;
    const { code, out, err } = await run(["attest", "--ndjson"], { stdin });
    expect([code, err]).toEqual([1, expect.stringMatching(/^countersign: validation_error: action: /)]);
    expect(lines(out).map(({ status, body }) => [status, body.tools_used ?? body.code])).toEqual([
      [201, null].map((value) => value ?? undefined),
      [422, "validation_error"],
      [201, ["pay"]],
    ]);
    await writeFile(inFolder("actions.ndjson"), stdin);
    const none = await run(["attest", "--ndjson", "--all-or-nothing", inFolder("actions.ndjson")]);
    expect([none.code, lines(none.out).map(({ status }) => status)]).toEqual([1, [424, 422, 424]]);
    for (const [argv, words] of [
      [["--ndjson", "--inputs-hash", "a"], /--inputs-hash: with --ndjson each line says it/],
      [["--ndjson", inFolder("inputs.json"), "more"], /takes one file/],
    ] as const)
      expect((await run(["attest", ...argv])).err).toMatch(words);
    expect((await run(["attest", "--ndjson"], { stdin: "[]\n" })).err).toMatch(
      /line 1: expected a JSON object/,
    );
  });

  const manyLines = (length: number) =>
    Array.from({ length }, (_, n) =>
      JSON.stringify({ agent_slug: "lines-bot", action: `Step ${n}`, inputs_hash: "a" }),
    ).join("\n");

  it("says what was recorded before a later part failed, and how to record the rest and nothing twice", async () => {
    const keys: (string | undefined)[] = [];
    let isDown = true;
    const fetch: Fetch = async (_, { headers, body }) => {
      keys.push((headers as Record<string, string>)["idempotency-key"]);
      if (isDown && keys.length > 1) throw new TypeError("fetch failed");
      const { attestations } = JSON.parse(String(body));
      return Response.json({ results: attestations.map((one: object) => ({ status: 201, body: one })) });
    };
    const first = await run(["attest", "--ndjson"], { stdin: manyLines(150), fetch });
    expect([first.code, lines(first.out).length]).toEqual([1, 100]);
    const [, named = ""] = /add --idempotency-key "([^"]+)"/.exec(first.err) ?? [];
    expect(new Set(keys)).toEqual(new Set([named, `${named} 1`]));
    isDown = false;
    keys.length = 0;
    const argv = ["attest", "--ndjson", "--idempotency-key", named];
    const again = await run(argv, { stdin: manyLines(150), fetch });
    expect([again.code, again.err, lines(again.out).length]).toEqual([0, "", 150]);
    expect(keys).toEqual([named, `${named} 1`]);
  });

  it("reads inputs from standard input, and metadata from a file", async () => {
    await writeFile(inFolder("metadata.json"), '{"invoice": 1042}');
    const argv = [
      "attest",
      "cli-bot",
      "Paid",
      "--inputs",
      "-",
      "--metadata",
      inFolder("metadata.json"),
      "--json",
    ];
    const { code, out } = await run(argv, { stdin: JSON.stringify(inputs) });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ inputs_hash: hashInputs(inputs), metadata: { invoice: 1042 } });
  });

  it("signs as the agent, and says what does not fit what is registered", async () => {
    const pem = () =>
      String(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }));
    await writeFile(inFolder("agent.pem"), pem());
    await writeFile(inFolder("other.pem"), pem());
    const own = ["--agent-key", inFolder("agent.pem")];
    const registered = await runForJson(
      "agent",
      "register",
      "signing-bot",
      ...own,
      "--tool",
      "pay",
      "--name",
      "Bo",
    );
    expect(registered).toMatchObject({ key_status: "proven", tools: ["pay"], name: "Bo" });
    expect((await run(["agent", "tools", "signing-bot", "pay", "refund"])).out).toContain("pay, refund");
    expect((await run(["agent", "show", "signing-bot"], { apiKey: undefined })).out).toContain("pay, refund");
    const attest = ["attest", "signing-bot", "Paid", "--inputs-hash", "a"];
    expect((await run([...attest, ...own])).out).toMatch(/agent's signature +as registered/);
    const foreign = await run([...attest, "--agent-key", inFolder("other.pem"), "--tool", "erase"]);
    expect(foreign.out).toMatch(/agent's signature +NOT as registered\n +tools +NOT as registered/);
  });
});

describe("authorize", () => {
  const asking = (more: string[] = []) => {
    const ask = [
      "authorize",
      "cli-bot",
      "Pay",
      "--inputs",
      inFolder("inputs.json"),
      "--context",
      "to=Example=Ltd",
    ];
    return [...ask, "--idempotency-key", `ask-${more.join()}`];
  };

  it("says who asks, in the caller's words", async () => {
    const made = await runForJson(...asking(["who"]), "--requester", "Night run of accounts payable");
    expect(made.requested_by.requester).toBe("Night run of accounts payable");
    expect((await run([...asking(["nobody"]), "--requester", ""])).code).not.toBe(0);
  });

  it("asks for enrolled approvers, what it costs, which tool and for how long", async () => {
    await enrolGroup(test, "dev@example.com", "finance", "Carol", "Dave");
    const made = await runForJson(
      ...["authorize", "cli-bot", "Pay", "--tool", "bank.transfer", "--amount", "100.50 EUR"],
      ...["--required-approvers", "finance=2", "--level", "none", "--usable-for", "2592000"],
    );
    expect(made).toMatchObject({
      tool: "bank.transfer",
      amount: { value: "100.5", currency: "EUR" },
      required_level: "none",
      required_approvers: [{ name: "finance", count: 2 }],
      notified: 2,
    });
    const { rows } = await test.query("SELECT request FROM authorization_requests WHERE id = $1", [
      made.request_id,
    ]);
    expect(Buffer.from(rows[0]?.["request"] as Uint8Array).toString()).toContain(
      '"usable_for_seconds":2592000',
    );
    const tooMany = await run(["authorize", "cli-bot", "Pay", "--required-approvers", "finance=3"]);
    expect([tooMany.code, tooMany.err]).toEqual([1, expect.stringContaining('asks for 3 of "finance"')]);
  });

  it("says if nobody gets the link by email, and how it was decided without asking", async () => {
    const ask = ["authorize", "cli-bot", "Read", "--tool", "ledger.read"];
    expect((await run(ask)).out).toContain("nobody gets the link by email");
    const text = `@id("reading") permit (principal, action == Action::"act", resource == Tool::"ledger.read");`;
    const put = (mode: string) => test.call("PUT", "/v1/rules", { key, body: { text, mode } });
    expect((await put("enforce")).status).toBe(200);
    const decided = await run(ask);
    expect(decided.out).toContain("Rule reading allowed it. Nobody was asked.");
    expect(decided.out).not.toContain("nobody gets the link");
    expect((await run([...ask, "--wait"])).out).toContain("Rule reading allowed it. Nobody was asked.");
    expect((await put("off")).status).toBe(200);
  });

  it("waits for an approval, which attest takes, and verify finds in it", async () => {
    const made = await runForJson(...asking());
    expect(made.context).toEqual({ to: "Example=Ltd" });
    expect((await openRequest(test, made).approve("ada")).status).toBe(200);
    const waited = await run([...asking(), "--wait", "--output", inFolder("approval.json")]);
    expect(waited.code).toBe(0);
    expect(waited.out).toContain(made.approval_url);
    expect(waited.out).toContain(made.confirmation_code);
    expect(waited.out).toMatch(/Approved\.\n[\s\S]*TEST \(local\)/);
    const attested = await runForJson(
      ...["attest", "cli-bot", "Pay", "--inputs", inFolder("inputs.json")],
      ...["--authorization", inFolder("approval.json")],
    );
    expect(attested.human_approval.method).toBe("proof_of_personhood");
    const verified = await run(["verify", attested.attestation_id]);
    expect(verified.out).toMatch(/^TEST\. This was decided on a TEST instance/);
    expect(verified.out).toContain("TEST: nothing about a real person is proven");
    expect(verified.code).toBe(0);
  });

  it("prints one line of JSON for each request and one for its end, whatever the end is", async () => {
    const denied = await runForJson(...asking(["json-denied"]));
    await openRequest(test, denied).deny("not today");
    const said = await run([...asking(["json-denied"]), "--wait", "--json"]);
    expect(said.code).toBe(5);
    expect(lines(said.out)).toMatchObject([
      { status: "pending" },
      { status: "denied", denial_reason: "not today" },
    ]);
    const expired = await runForJson(...asking(["json-expired"]));
    await expireRequest(test, expired.request_id);
    const over = await run([...asking(["json-expired"]), "--wait", "--json"]);
    expect(over.code).toBe(6);
    expect(lines(over.out)).toMatchObject([{ status: "pending" }, { status: "expired" }]);
    const gone = await runForJson(...asking(["json-gone"]));
    await approveUnproven(test, gone.request_id);
    await test.call("POST", `/v1/authorizations/${gone.request_id}/revoke`, { key, body: {} });
    const takenBack = await run([...asking(["json-gone"]), "--wait", "--json"]);
    expect(takenBack.code).toBe(1);
    expect(lines(takenBack.out)).toMatchObject([
      { status: "pending" },
      { status: "approved", error: { message: expect.stringContaining("taken back") } },
    ]);
    const send = fetchFrom(test);
    const silent: Fetch = (url, init) =>
      url.includes("wait=") ? Promise.reject(new TypeError("fetch failed")) : send(url, init);
    const lost = await run([...asking(["json-lost"]), "--wait", "--json"], { fetch: silent });
    expect(lost.code).toBe(7);
    expect(lines(lost.out)).toMatchObject([
      { status: "pending" },
      { status: "pending", error: { message: expect.any(String) } },
    ]);
  });

  it("ends with 5 when it is denied, and shows the reason without its escapes", async () => {
    const made = await runForJson(...asking(["denied"]));
    await openRequest(test, made).deny("no \u001b[2J");
    const { code, err } = await run([...asking(["denied"]), "--wait"]);
    expect(code).toBe(5);
    expect(err).toContain("Do not retry");
    expect(err).toContain("The human wrote: no ⟨U+001B⟩[2J");
  });

  it("ends with 6 when nobody decided, and with 5 when it was cancelled", async () => {
    const late = await runForJson(...asking(["late"]));
    const honest = fetchFrom(test);
    const expiring: Fetch = async (url, init) => {
      if (init.method === "GET") await expireRequest(test, late.request_id);
      return honest(url, init);
    };
    expect(await run([...asking(["late"]), "--wait"], { fetch: expiring })).toMatchObject({ code: 6 });
    const gone = await runForJson(...asking(["gone"]));
    await test.call("DELETE", `/v1/authorize/${gone.request_id}`, { key });
    expect(await run([...asking(["gone"]), "--wait"])).toMatchObject({ code: 5 });
  });
});

describe("revoke, freeze and unfreeze", () => {
  it("takes an approval back, and says whether a run had begun", async () => {
    const { request_id: id } = await runForJson("authorize", "cli-bot", "Pay");
    expect(await run(["revoke", id])).toMatchObject({
      code: 1,
      err: expect.stringContaining("authorization_pending"),
    });
    await approveUnproven(test, id);
    await run(["claim", id, "--run", "build 7"]);
    const back = await run(["revoke", id, "--reason", "Wrong account"]);
    expect(back).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Taken back\.[\s\S]*run build 7 claimed it before/),
    });
    expect(await runForJson("revoke", id)).toMatchObject({ request_id: id, revoked_at: expect.any(String) });
    expect(await run(["claim", id, "--run", "build 7"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("taken back"),
    });
  });

  it("stops an agent with a reason, and lets it go on with a key that may", async () => {
    await run(["attest", "cli-stopped", "Paid", "--inputs-hash", "a"]);
    expect(await run(["freeze", "cli-stopped"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--reason"),
    });
    const stopped = await run(["freeze", "cli-stopped", "--reason", "It paid twice"]);
    expect(stopped).toMatchObject({ code: 0, out: expect.stringMatching(/^Frozen\./) });
    const { key: narrow } = await test.createKey("dev@example.com", [
      "attest",
      "authorize",
      "identity",
      "read",
    ]);
    expect(await run(["unfreeze", "cli-stopped"], { apiKey: narrow })).toMatchObject({
      code: 1,
      err: expect.stringContaining("insufficient_scope"),
    });
    expect(await runForJson("freeze", "cli-stopped", "--reason", "again")).toMatchObject({
      slug: "cli-stopped",
      frozen_at: expect.any(String),
    });
    expect(await run(["unfreeze", "cli-stopped"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Unfrozen\./),
    });
    expect(await runForJson("unfreeze", "cli-stopped")).toMatchObject({ frozen_at: null });
    for (const argv of [["freeze"], ["unfreeze"], ["revoke"], ["freeze", "a", "b", "--reason", "x"]])
      expect(await run(argv)).toMatchObject({ code: 2 });
  });
});

describe("keys", () => {
  it("are got by mail, shown, and deleted", async () => {
    const anonymous = { apiKey: undefined };
    expect(await run(["keys", "request", "new@example.com"], anonymous)).toMatchObject({ code: 0, err: "" });
    const { body } = await test.call("GET", "/dev/mailbox");
    const code = body.messages[0].subject.slice(0, 6);
    const got = await run(["keys", "verify", "new@example.com", code], anonymous);
    const [apiKey = ""] = /cs_test_\w+/.exec(got.out) ?? [];
    expect((await run(["keys", "info"], { apiKey })).out).toContain("new@example.com");
    expect(await run(["keys", "delete"], { apiKey })).toMatchObject({ code: 0 });
    const gone = await run(["keys", "info"], { apiKey });
    expect(gone).toMatchObject({ code: 1, out: "" });
    expect(gone.err).toContain("invalid_api_key");
    expect(gone.err).not.toContain(apiKey);
  });
});

describe("webhooks listen", () => {
  const listed = async () => (await test.call("GET", "/v1/webhooks", { key })).body.webhooks;
  const listening = async () => {
    await expect.poll(async () => (await listed()).length).toBe(1);
    return (await listed())[0];
  };

  it("prints what comes, once, refuses what is not signed, and leaves no endpoint behind", async () => {
    const running = run(["webhooks", "listen", "--count", "3"]);
    const { url } = await listening();
    const forged = {
      "webhook-id": "msg_forged",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": "v1,AAAA",
    };
    for (const headers of [{}, forged])
      expect((await fetch(url, { method: "POST", headers, body: "{}" })).status).toBe(401);
    await runForJson("attest", "cli-bot", "Paid", "--inputs-hash", "a");
    const made = await runForJson("authorize", "cli-bot", "Pay", "--inputs-hash", "a");
    await openRequest(test, made).deny();
    const { code, out, err } = await running;
    expect([code, err]).toEqual([0, expect.stringContaining("without a valid signature was refused")]);
    expect(out).toMatch(/^attestation\.created\n {2}time +2/);
    expect(out).toMatch(new RegExp(`authorization\\.denied\\n[\\s\\S]*request id +${made.request_id}`));
    expect(await listed()).toEqual([]);
  });

  it("prints one line of JSON a message, of the events that were named", async () => {
    const argv = ["webhooks", "listen", "--event", "authorization.cancelled", "--count", "1", "--json"];
    const running = run(argv);
    expect((await listening()).events).toEqual(["authorization.cancelled"]);
    await runForJson("attest", "cli-bot", "Paid", "--inputs-hash", "a");
    const { request_id } = await runForJson("authorize", "cli-bot", "Pay", "--inputs-hash", "a");
    await test.call("DELETE", `/v1/authorize/${request_id}`, { key });
    const { code, out } = await running;
    expect(code).toBe(0);
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { webhook_id: expect.stringMatching(/^msg_/), type: "authorization.cancelled", data: { request_id } },
    ]);
  });

  it("ends with the usual codes", async () => {
    expect(await run(["webhooks"])).toMatchObject({ code: 2 });
    expect(await run(["webhooks", "listen", "--count", "0"])).toMatchObject({ code: 2 });
    expect(await run(["webhooks", "listen"], { apiKey: undefined })).toMatchObject({ code: 2 });
    const refused = await run(["webhooks", "listen", "--event", "nothing"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("must be one of")]);
    const unreachable: Fetch = async () => {
      throw new TypeError("fetch failed");
    };
    expect(await run(["webhooks", "listen"], { fetch: unreachable })).toMatchObject({ code: 7 });
  });
});

describe("verify", () => {
  it("is the verifier, by its own name", async () => {
    const made = await runForJson("attest", "cli-bot", "Paid", "--inputs-hash", "a");
    await writeFile(inFolder("receipt.json"), JSON.stringify({ ...made, action: "Paid nothing" }));
    expect((await run(["verify", made.attestation_id])).out).toContain(
      "Authentic record. Every check passed.",
    );
    const forged = ["verify", inFolder("receipt.json"), "--base", "http://localhost:3000"];
    expect(await run(forged)).toMatchObject({ code: 1 });
    const helped = await run(["verify", "--help"]);
    expect(helped.out).toContain("usage: countersign verify <id | url | file | -> [options]");
    expect(helped.out).not.toContain("verify.mjs");
    const bare = await run(["verify", made.attestation_id], { serviceUrl: undefined });
    expect(bare).toMatchObject({ code: 2, out: "" });
    expect(bare.err).toContain("an id alone needs --base");
  });

  it("says that nothing answered, which is neither wrong usage nor a verdict", async () => {
    const unreachable: Fetch = () => Promise.reject(new TypeError("fetch failed"));
    const said = await run(["verify", "http://localhost:1/v1/verify/x"], { fetch: unreachable });
    expect(said).toMatchObject({ code: 7, out: "" });
    expect(said.err).toContain("http://localhost:1/v1/verify/x: could not be fetched");
  });

  it.each(["http://", "http://bad host/v1/verify/x", "https://[::1"])(
    "names %s as it was written",
    async (url) => {
      expect(await run(["verify", url])).toMatchObject({
        code: 2,
        out: "",
        err: expect.stringContaining(`${url}: not an address`),
      });
    },
  );
});

describe("the service's address", () => {
  it.each([
    [["--url", "example"], undefined, "--url: not an address: example"],
    [
      ["--url", "http://Example.com/"],
      undefined,
      "--url: must be https, or http on this machine: http://Example.com/",
    ],
    [[], "example", "COUNTERSIGN_URL: not an address: example"],
  ])("is named as it was written: %j, %s", async (words, serviceUrl, message) => {
    const said = await run(["agent", "show", "x", ...words], { serviceUrl });
    expect(said).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});

describe("wrong usage", () => {
  const attest = ["attest", "cli-bot", "Paid"];
  it.each([
    [[], "which command?"],
    [["atest"], "unknown command atest"],
    [["constructor"], "unknown command constructor"],
    [["attest", "cli-bot"], "expected <agent> <action>"],
    [[...attest, "more", "--inputs-hash", "a"], "expected <agent> <action>"],
    [attest, "attest needs --inputs or --inputs-hash"],
    [[...attest, "--inputs-hash"], "--inputs-hash needs a value"],
    [["attest", "cli-bot", "--privat", "--inputs-hash", "a"], "unknown option --privat"],
    [[...attest, "--inputs-hash", "a", "--wait"], "unknown option --wait"],
    [[...attest, "--inputs-hash", "a", "--inputs-hash", "b"], "--inputs-hash is given twice"],
    [[...attest, "--inputs-hash", "a", "--inputs", "b"], "give --inputs or --inputs-hash"],
    [[...attest, "--inputs-hash", "a", "--private", "--public"], "give --public or --private"],
    [[...attest, "--inputs", "/nowhere/at/all.json"], "/nowhere/at/all.json: ENOENT"],
    [[...attest, "--inputs", "-"], "-: not strict JSON"],
    [["authorize", "cli-bot", "Pay", "--context", "to"], "--context: expected NAME=VALUE, not to"],
    [
      ["authorize", "cli-bot", "Pay", "--context", "a=1", "--context", "a=2"],
      "--context: a name is given twice",
    ],
    [["authorize", "cli-bot", "Pay", "--expires-in", "soon"], "--expires-in: expected a number"],
    [["authorize", "cli-bot", "Pay", "--level", "high"], "--level: expected none, device or orb"],
    [
      ["authorize", "cli-bot", "Pay", "--required-approvers", "finance"],
      "--required-approvers: expected GROUP=COUNT",
    ],
    [["authorize", "cli-bot", "Pay", "--amount", "100"], "--amount: expected a number and a currency"],
    [["authorize", "cli-bot", "Pay", "--output", "x"], "--output needs --wait"],
    [["authorize", "cli-bot", "Pay", "--wait", "--output", "/nowhere/x"], "--output /nowhere/x: ENOENT"],
    [["authorize", "cli-bot", "Pay", "--wait", "--output", tmpdir()], `--output ${tmpdir()}: it is a folder`],
    [["keys", "list"], "the keys commands are"],
    [["keys", "info", "more"], "expected no more words"],
    [["agent", "remove"], "the agent commands are"],
    [["agent", "tools", "cli-bot"], "expected <agent> <tool>…"],
    [
      ["mcp", "gate", "--url", "https://mcp.example", "--", "bank"],
      "expected -- and the server's command, or --url",
    ],
  ])("%j ends with 2 and reaches nobody", async (argv, message) => {
    const fetch: Fetch = () => Promise.reject(new Error("reached"));
    const { code, out, err } = await run(argv, { fetch });
    expect({ code, out, err }).toEqual({
      code: 2,
      out: "",
      err: expect.stringContaining(`countersign: ${message}`),
    });
  });

  it("is no service, no key, or an address that a key must not go to", async () => {
    const argv = ["attest", "cli-bot", "Paid", "--inputs-hash", "a"];
    for (const [around, message] of [
      [{ serviceUrl: undefined }, "Set COUNTERSIGN_URL or give --url"],
      [{ apiKey: undefined }, "set COUNTERSIGN_API_KEY"],
      [{ apiKey: "“cs_live_x”" }, "the API key: expected printable ASCII"],
      [{ serviceUrl: "http://countersign.example" }, "must be https"],
    ] as const) {
      expect(await run(argv, around)).toEqual({ code: 2, out: "", err: expect.stringContaining(message) });
    }
    const gate = ["mcp", "gate", "--agent", "cli-bot", "--url", "https://mcp.example"];
    const { err } = await run(gate, { serviceUrl: undefined });
    expect(err, "--url is the MCP server's").toMatch(/^countersign: which service\? Set COUNTERSIGN_URL\n/);
  });
});

describe("a service that refuses or is away", () => {
  it("ends with 1 if it refused", async () => {
    const refused = await run(["attest", "cli bot", "Paid", "--inputs-hash", "a"]);
    expect(refused).toEqual({
      code: 1,
      out: "",
      err: expect.stringContaining("validation_error: agent_slug"),
    });
  });

  it("ends with 7 if it could not be reached", async () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:3000");
    const fetch: Fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
    const away = await run(["keys", "info"], { fetch });
    const why = "fetch failed: connect ECONNREFUSED 127.0.0.1:3000";
    const err = `countersign: GET ${test.app.context.settings.baseUrl}/v1/keys/info: no answer (${why})\n`;
    expect(away).toEqual({ code: 7, out: "", err });
  });
});

describe("countersign.mjs", () => {
  let server: Listening;
  let base: string;
  beforeAll(async () => {
    server = await listenFor(test);
    ({ base } = server);
  });
  afterAll(() => server.close());

  const shell = (command: string) =>
    runProgram("sh", ["-c", command], {
      cwd: folder,
      env: { PATH: process.env["PATH"], COUNTERSIGN_URL: base, COUNTERSIGN_API_KEY: key },
    });

  it("is one file that works alone, as it is served", async () => {
    const fetched = await shell(
      `curl -fsSO ${base}/countersign.mjs && curl -fsSO ${base}/countersign.mjs.sha256 && sha256sum -c countersign.mjs.sha256`,
    );
    expect(fetched).toEqual({ code: 0, out: "countersign.mjs: OK\n" });
    expect((await readFile(inFolder("countersign.mjs"))).equals(await readFile(program))).toBe(true);
    const made = await shell(
      `printf '{"a":1}' | node countersign.mjs attest piped-bot Paid --inputs - --json > made.json && node countersign.mjs verify made.json --base ${base}`,
    );
    expect(made.out).toContain("Authentic record. Every check passed.");
    expect(made.code).toBe(0);
    expect(await shell("node countersign.mjs --help")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^usage/),
    });
    const helped = await shell("node countersign.mjs hook --help");
    expect(helped.out).toMatch(/^usage: countersign hook --agent .*\n\nhook serve {2}.*\n\nExit codes/s);
    expect(helped.out).not.toMatch(/countersign attest|^(?:attest|mcp gate|doctor)\b/m);
    expect(await shell("node countersign.mjs attest")).toMatchObject({ code: 2 });
    const unread = await shell("node countersign.mjs --help >/dev/full");
    expect(unread).toEqual({ code: 2, out: expect.stringMatching(/^ENOSPC: [^\n]+\n$/) });
    const shown = await shell("COUNTERSIGN_API_KEY= node countersign.mjs agent show piped-bot");
    expect(shown, "an empty variable is no key").toMatchObject({ code: 0 });
    expect(await shell("COUNTERSIGN_API_KEY=cs_… node countersign.mjs keys info")).toMatchObject({
      code: 2,
      out: expect.stringMatching(/^countersign: the API key: expected printable ASCII/),
    });
  });
});
