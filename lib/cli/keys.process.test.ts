/**
 * `npm run keys` on a real database: rotation, revocation, lost and foreign keys. What was signed before stays valid,
 * and the public answers tell the whole story.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { base64Decode, base64Encode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { zkKeyId, zkKeyPairFromSeed } from "#lib/protocol/presentation/disclosure";
import { parseTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { expectExit } from "#support/commands";
import { anyKind, databaseKinds } from "#support/databases";
import {
  attest,
  checkWholeLog,
  closeHomes,
  isValid,
  makeHome,
  run,
  runBeside,
  start,
} from "#support/operator-commands";

afterEach(closeHomes);

/**
 * A BBS key whose id begins with "-", as one in 64 does: a command line that splits words naively takes it for an
 * option.
 */
async function keepZkKeyWithDash(home: Record<string, string>): Promise<void> {
  // The first that has one.
  for (let n = 77; ; n += 1) {
    const seed = sha256(utf8Encode(`seed ${n}`));
    if (!zkKeyId((await zkKeyPairFromSeed(seed)).publicKey).startsWith("-")) continue;
    const keys = path.join(String(home["DATA_DIR"]), "keys");
    mkdirSync(keys, { mode: 0o700 });
    writeFileSync(path.join(keys, "zk-signing-key"), base64Encode(seed), { mode: 0o600 });
    return;
  }
}

/** Module that puts the clock of a program's machine forward. */
const hourAhead = `data:text/javascript,${encodeURIComponent(
  "const { now } = Date; Date.now = () => now() + 3_600_000; globalThis.Date = class extends Date { constructor(...of) { super(...(of.length ? of : [Date.now()])); } };",
)}`;

describe.each(databaseKinds)("keys (%s)", (kind) => {
  it("rotates the attestation key: what it signed stays valid, and it names its successor", async () => {
    const home = await makeHome(kind);
    let test = await start(kind, home);
    const { key } = await test.createKey();
    const before = (await attest(test, key)).body;
    const rotated = await runBeside(kind, test, home, ["keys", ["rotate", "attestation"]]);
    expectExit(rotated, 0);
    test = rotated.test;
    const answers = await Promise.all([attest(test, key), attest(test, key)]);
    const [after] = answers.map(({ body }) => body);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(after.key_id).not.toBe(before.key_id);
    expect(await isValid(test, before.attestation_id)).toBe(true);
    expect(await isValid(test, after.attestation_id)).toBe(true);

    const { body: published } = await test.call("GET", "/v1/pubkey");
    expect(published.key_id).toBe(after.key_id);
    const [old, active] = published.keys;
    expect(old).toMatchObject({ key_id: before.key_id, status: "retired", valid_from_index: 0 });
    expect(active).toMatchObject({ key_id: after.key_id, status: "active", valid_to_index: null });
    expect(active.valid_from_index).toBe(old.valid_to_index);
    const retirement = published.key_events.find(
      (event: { payload: string }) => JSON.parse(event.payload).predicate.event === "retired",
    );
    expect(retirement.index).toBe(old.valid_to_index - 1);
    expect(JSON.parse(retirement.payload).predicate.successor.key_id).toBe(after.key_id);
    const signed = [base64Decode(retirement.signature), utf8Encode(retirement.payload)] as const;
    expect(verifyEd25519Strict(...signed, base64Decode(old.public_key))).toBe(true);
    const { body: jwks } = await test.call("GET", "/.well-known/jwks.json");
    expect(jwks.keys.map((one: { status: string }) => one.status)).toEqual(["retired", "active"]);
    expect(await checkWholeLog(test)).toMatchObject({ ok: true });
  });
});

describe.each([anyKind])("keys of every kind (%s)", (kind) => {
  it("rotates the BBS key", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const before = (await attest(first, key, { enable_zk: true })).body;
    const { test, ...result } = await runBeside(
      kind,
      first,
      // The embedded database has the machine's clock.
      kind === "embedded" ? home : { ...home, NODE_OPTIONS: `--import=${hourAhead}` },
      ["keys", ["rotate", "zk"]],
    );
    expectExit(result, 0);
    const after = (await attest(test, key, { enable_zk: true })).body;
    const kidOf = ({ payload }: { payload: string }) => JSON.parse(payload).predicate.zk.kid;
    expect(kidOf(after)).not.toBe(kidOf(before));
    expect(await isValid(test, before.attestation_id)).toBe(true);
    expect(await isValid(test, after.attestation_id)).toBe(true);
    const { body } = await test.call("GET", "/v1/pubkey");
    expect(body.zk.kid).toBe(kidOf(after));
    const dated = body.key_events.map((one: { payload: string }) => JSON.parse(one.payload).predicate.at);
    expect(dated.sort().at(-1) < new Date().toISOString(), "by the database's clock").toBe(true);
    expect(body.zk.keys.map((one: { status: string }) => one.status).sort()).toEqual(["active", "retired"]);
  });

  it("finishes at the next start a rotation that was interrupted before its file was in place", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const before = (await attest(first, key)).body;
    const keys = path.join(String(home["DATA_DIR"]), "keys");
    const old = readFileSync(path.join(keys, "signing-key"), "utf8");
    const rotated = await runBeside(kind, first, home, ["keys", ["rotate", "attestation"]]);
    expectExit(rotated, 0);
    await rotated.test.app.close();
    const active = readFileSync(path.join(keys, "signing-key"), "utf8");
    writeFileSync(path.join(keys, "signing-key.next"), active);
    writeFileSync(path.join(keys, "signing-key"), old);
    const test = await start(kind, home);
    expect((await attest(test, key)).body.key_id).not.toBe(before.key_id);
    expect(readFileSync(path.join(keys, "signing-key"), "utf8")).toBe(active);
  });

  it("revokes the active key from an index on: earlier signatures stay valid, later ones do not", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const good = (await attest(first, key)).body;
    const bad = (await attest(first, key)).body;
    const command: [string, string[]] = [
      "keys",
      ["revoke", "attestation", bad.key_id, "--from-index", String(bad.log.index)],
    ];
    const { test, ...result } = await runBeside(kind, first, home, command);
    expectExit(result, 0);
    const after = (await attest(test, key)).body;
    expect(await isValid(test, good.attestation_id)).toBe(true);
    expect(await isValid(test, after.attestation_id)).toBe(true);
    const { body: verdict } = await test.call("GET", `/v1/verify/${bad.attestation_id}`);
    expect(verdict.valid).toBe(false);
    const failed = verdict.checks.filter((check: { status: string }) => check.status === "fail");
    expect(failed.map((check: { name: string }) => check.name)).toEqual(["key_validity"]);
    const { body: published } = await test.call("GET", "/v1/pubkey");
    expect(published.keys[0]).toMatchObject({ status: "revoked", valid_to_index: bad.log.index });
    const { body: earlier } = await test.call("GET", `/v1/verify/${good.attestation_id}`);
    const warned = { warnings: [{ code: "signing_key_revoked" }] };
    expect(earlier).toMatchObject(warned);
    expect(await verifyEvidence(earlier, parseTrust(published))).toMatchObject({
      verdict: "valid",
      ...warned,
    });
    expect(verdict.warnings).toEqual([]);
    const { body: fresh } = await test.call("GET", `/v1/verify/${after.attestation_id}`);
    expect(fresh.warnings).toEqual([]);
    const listed = async (filter: string) =>
      (await test.call("GET", `/v1/attestations?warnings=${filter}`, { key })).body.attestations.map(
        (one: { attestation_id: string }) => one.attestation_id,
      );
    expect(await listed("true")).toEqual([bad.attestation_id, good.attestation_id]);
    expect(await listed("false")).toEqual([after.attestation_id]);
  });

  it("goes on to no key that lay beside a revoked one, and doesn't replace one by a key that is given", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const { key_id } = (await attest(first, key)).body;
    await first.app.close();
    const left = path.join(String(home["DATA_DIR"]), "keys", "signing-key.next");
    const seed = Buffer.alloc(32, 4).toString("base64");
    writeFileSync(left, seed, { mode: 0o600 });
    const refusal = { code: 1, out: expect.stringMatching(/signing-key\.next was left behind.*Remove it/s) };
    const logLeft = path.join(path.dirname(left), "log-signing-key.next");
    writeFileSync(logLeft, seed, { mode: 0o600 });
    expect(await run("log", ["new-epoch", "--new-log-key"], home)).toMatchObject(refusal);
    rmSync(logLeft);
    expect(await run("keys", ["revoke", "attestation", key_id], home)).toMatchObject(refusal);
    const file = path.join(String(home["DATA_DIR"]), "given-key");
    writeFileSync(file, Buffer.alloc(32, 5).toString("base64"));
    const given = ["rotate", "attestation", "--new-key-file", file];
    expect(await run("keys", given, home)).toMatchObject(refusal);
    expect(readFileSync(left, "utf8")).toBe(seed);
    rmSync(left);
    expect(await run("keys", ["revoke", "attestation", "no-key"], home)).toMatchObject({
      code: 1,
      out: expect.stringContaining("there is no attestation key no-key"),
    });
    expectExit(await run("keys", ["revoke", "attestation", key_id], home), 0);
    expect((await run("keys", ["revoke", "attestation", key_id], home)).out).toMatch(/needs --from-index/);
    const test = await start(kind, home);
    expect((await attest(test, key)).body.key_id).not.toBe(key_id);
  });

  it("leaves nothing in the way of a rotation if it is given a key that the service had before", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    await first.app.close();
    const old = path.join(String(home["DATA_DIR"]), "old-key");
    cpSync(path.join(String(home["DATA_DIR"]), "keys", "signing-key"), old);
    const rotate = (...args: string[]) => run("keys", ["rotate", "attestation", ...args], home);
    expectExit(await rotate(), 0);
    const refused = await rotate("--new-key-file", old);
    expectExit(refused, 1);
    expect(refused.out).toMatch(/was this service's attestation key before/);
    expectExit(await rotate(), 0);
  });

  it("revokes from an index of the log that is meant, which must be one that the key signed", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const [good, middle, bad] = [
      await attest(first, key),
      await attest(first, key),
      await attest(first, key),
    ];
    const { key_id } = bad.body;
    await first.app.close();
    expectExit(await run("log", ["new-epoch", "--anyway"], home), 0);
    const revoke = (index: number, ...rest: string[]) =>
      run("keys", ["revoke", "attestation", key_id, "--from-index", String(index), ...rest], home);
    const badIndex = bad.body.log.index;
    expect(await revoke(badIndex)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/in localhost:3000\/log\/2 .* below index 1 alone.*--log/s),
    });
    expect((await revoke(999_999, "--log", "1")).out).toMatch(/changes nothing/);
    expect((await revoke(0, "--log", "3")).out).toMatch(
      /has not signed in log 3, but in localhost:3000\/log, /,
    );
    expectExit(await revoke(badIndex, "--log", "localhost:3000/log"), 0);
    expect((await revoke(badIndex, "--log", "1")).out).toMatch(/changes nothing/);
    expect((await revoke(middle.body.log.index, "--log", "1")).out).toMatch(/takes no second one/);
    const validity = async () => {
      const test = await start(kind, home);
      const found = [];
      for (const { body } of [good, middle, bad]) found.push(await isValid(test, body.attestation_id));
      await test.app.close();
      return found;
    };
    expect(await validity()).toEqual([true, true, false]);

    expectExit(await run("log", ["new-epoch", "--anyway"], home), 0);
    expectExit(await revoke(middle.body.log.index, "--log", "1"), 0);
    expect(await validity()).toEqual([true, false, false]);
    expectExit(await run("log", ["check"], home), 0);
  });

  it("revokes the BBS key: its proofs count beside their payload alone, and it makes no presentation", async () => {
    const home = await makeHome(kind);
    await keepZkKeyWithDash(home);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const open = (await attest(first, key, { enable_zk: true })).body;
    const hidden = (await attest(first, key, { enable_zk: true, is_public: false })).body;
    const { kid } = hidden.zk.proof;
    expect(kid).toMatch(/^-/);
    const { test, ...result } = await runBeside(kind, first, home, ["keys", ["revoke", "zk", kid]]);
    expectExit(result, 0);

    const { body: pubkey } = await test.call("GET", "/v1/pubkey");
    const trust = parseTrust(pubkey);
    expect(trust.revokedZkKeys.map(zkKeyId)).toEqual([kid]);
    const check = async (id: string, as?: string) => {
      const { body } = await test.call("GET", `/v1/verify/${id}`, as === undefined ? {} : { key: as });
      const { verdict, checks, warnings } = await verifyEvidence(body, trust, { attestationId: id });
      for (const all of [body.warnings, warnings]) expect(all).toMatchObject([{ code: "zk_key_revoked" }]);
      const status = (all: { name: string; status: string }[]) =>
        all.find(({ name }) => name === "zk_proof")?.status;
      return { server: [body.valid, status(body.checks)], verifier: [verdict, status(checks)] };
    };
    const whole = { server: [true, "pass"], verifier: ["valid", "pass"] };
    expect(await check(open.attestation_id)).toEqual(whole);
    expect(await check(hidden.attestation_id, key)).toEqual(whole);
    expect(await check(hidden.attestation_id)).toEqual({
      server: [true, "not_applicable"],
      verifier: ["incomplete", "not_applicable"],
    });
    expect(await verifyEvidence(hidden.zk.proof, trust)).toMatchObject({ verdict: "invalid" });

    const wanted = { disclose: ["action"], audience: "a", nonce: "n" };
    const present = (id: string) =>
      test.call("POST", `/v1/attestations/${id}/presentations`, { key, body: wanted });
    const refused = await present(hidden.attestation_id);
    expect([refused.status, refused.body.code]).toEqual([409, "zk_key_revoked"]);
    const after = (await attest(test, key, { enable_zk: true })).body;
    expect(after.zk.proof.kid).not.toBe(kid);
    expect((await present(after.attestation_id)).status).toBe(201);
  });

  it("replaces a key that is lost, and says beforehand what to do", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const before = (await attest(first, key)).body;
    await first.app.close();
    rmSync(path.join(String(home["DATA_DIR"]), "keys", "signing-key"));
    await expect(start(kind, home)).rejects.toThrow(/attestation key is missing.*rotate attestation --lost/s);
    expect((await run("keys", ["rotate", "attestation"], home)).out).toMatch(/add --lost/);
    expectExit(await run("keys", ["rotate", "attestation", "--lost"], home), 0);
    const test = await start(kind, home);
    expect((await attest(test, key)).status).toBe(201);
    expect(await isValid(test, before.attestation_id)).toBe(true);
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("running processes on PostgreSQL", () => {
  it("answer 503 while the settings hold a retired key, and sign again with the new one", async () => {
    const home = await makeHome("postgres");
    const settings = { ...home, SIGNING_KEY: Buffer.alloc(32, 1).toString("base64") };
    const test = await start("postgres", settings);
    const { key } = await test.createKey();
    const before = (await attest(test, key)).body;
    const file = path.join(String(home["DATA_DIR"]), "new-key");
    writeFileSync(file, `${Buffer.alloc(32, 2).toString("base64")}\n`);
    expect((await run("keys", ["rotate", "attestation"], settings)).out).toMatch(/--new-key-file/);
    // From any folder, with files as they are named there.
    const given = ["rotate", "attestation", "--new-key-file", "new-key"];
    expectExit(await run("keys", given, settings, home["DATA_DIR"]), 0);
    expect((await attest(test, key)).status).toBe(503);
    expect(await isValid(test, before.attestation_id)).toBe(true);
    await test.app.close();
    const restarted = await start("postgres", { ...home, SIGNING_KEY: readFileSync(file, "utf8").trim() });
    expect((await attest(restarted, key)).status).toBe(201);
  });

  it("refuse to start with a folder of their own on a database in use, and with a foreign log key", async () => {
    const home = await makeHome("postgres");
    await start("postgres", home);
    const stranger = await makeHome("embedded");
    await expect(start("postgres", { ...home, ...stranger })).rejects.toThrow(
      /attestation key is missing.*New keys are made for an empty database only/s,
    );
    const foreign = { ...home, LOG_SIGNING_KEY: Buffer.alloc(32, 3).toString("base64") };
    await expect(start("postgres", foreign)).rejects.toThrow(/log key at hand .* is not the active one/);
    await expect(start("postgres", { ...home, LOG_ORIGIN: "example.com/other" })).rejects.toThrow(
      /Set LOG_ORIGIN=localhost:3000\/log/,
    );
  });
});
