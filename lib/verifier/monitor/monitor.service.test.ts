/** A service that rewrites its own past: the monitor catches it, and leaves a file that others can check offline. */
import { createHash } from "node:crypto";
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { beginEpoch } from "#lib/log/keys/new-epoch";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import type { LogEntry, LogEntryKind } from "#lib/log/sequencer/entry";
import { openForkGuard } from "#lib/log/sequencer/fork-guard";
import { type PlantedOpening, type PlantedSchedule, plantedHash } from "#lib/protocol/approval/planted";
import { base64Encode, concatBytes, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { buildHeadsTree, decodeHeadRow, mergeHeads, rowAt } from "#lib/protocol/record/agent-heads";
import { encodeUint64 } from "#lib/protocol/record/agent-record";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { dispatch } from "#lib/server/operations";
import { logPlanted } from "#lib/services/approvals/decision/planted";
import { setupTestApp } from "#support/setup-app";
import { runVerifier } from "#support/verifier-run";
import { encodeRemembered, parseRemembered } from "./monitor";

const base = "http://localhost";
const uuidOf = (n: number) => `0198c0de-0000-7000-8000-00000000000${n}`;
type Merged = ReturnType<typeof mergeHeads>;
type Lie = (path: string, answer: JsonObject) => JsonObject | string | undefined;

describe("verify.mjs monitor, record and proof", () => {
  const { test, key } = setupTestApp();
  const files = new Map<string, string>();
  /** Lead of the outsider's clock. */
  const laterSeconds = 0;

  const attest = async (agent_slug: string, more: object = {}) => {
    const body = { agent_slug, action: "Paid", inputs_hash: "abc", ...more };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  const read = async (path: string) => (await test.call("GET", path)).body;
  const snapshot = (change: (merged: Merged) => Merged = (merged) => merged) =>
    makeSnapshot({ ...test.app.context, merge: async (...heads) => change(mergeHeads(...heads)) });

  /** Simulates a lying copy of the service. */
  const fetchFrom = (lie: Lie) => async (url: string | URL | Request) => {
    test.use();
    const request = new Request(String(url));
    rememberPeer(request, "127.0.0.1");
    const answer = await dispatch(request);
    const { pathname } = new URL(String(url));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const isJson = answer.headers.get("content-type")?.includes("json");
    const instead = lie(pathname, isJson ? JSON.parse(utf8Decode(bytes)) : {});
    if (instead === undefined) return new Response(bytes, { status: answer.status });
    return new Response(typeof instead === "string" ? instead : JSON.stringify(instead));
  };
  const verify = (argv: string[], lie: Lie = () => undefined) =>
    runVerifier(argv, fetchFrom(lie), files, () => laterSeconds);
  const monitor = (lie?: Lie) => verify(["monitor", base, "--agent", "watched-bot"], lie);
  const proofKind = () => JSON.parse(files.get("countersign-proof.json") ?? "{}").kind;
  const offline: Lie = (path) => {
    throw new Error(`${path} was asked for offline`);
  };
  /** The file convinces somebody who has the keys and nothing else; changed, it convinces nobody. */
  async function expectProof(kind: string, words: RegExp) {
    expect(proofKind()).toBe(kind);
    const checked = await verify(["proof", "countersign-proof.json", "--keys", "keys.json"], offline);
    expect(checked.out).toMatch(words);
    expect(checked.out).toContain("This proves that the service did what it must not.");
    expect(checked.code).toBe(0);
    const unpinned = await verify(["proof", "countersign-proof.json"], offline);
    expect([unpinned.code, unpinned.out.includes("NOT pinned")]).toEqual([0, true]);
  }
  /** A schedule, and an opening of it. */
  async function logPlantedTwice() {
    const ids = { organizationId: uuidOf(1), groupId: uuidOf(2) };
    const [from, until] = ["2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"];
    const entry = {
      request_id: "areq_planted",
      at: from,
      fact: "payee",
      salt: "AAAAAAAAAAAAAAAAAAAAAA==",
    } as const;
    const schedule: PlantedSchedule = {
      ...{ version: 1, organization: ids.organizationId, group: ids.groupId, from, until },
      entries: [plantedHash(entry)],
    };
    const opening: PlantedOpening = {
      ...{ version: 1, schedule: plantedHash(schedule), entry, request_hash: null },
      ...{ outcome: "withdrawn", ended_at: until },
    };
    for (const document of [schedule, opening])
      await logPlanted(test.app.context, { document, ...ids, until, at: from }, async () => null);
  }
  /** With one of its bytes changed. */
  async function expectNothing(name: string, value: unknown) {
    const file = JSON.parse(files.get("countersign-proof.json") ?? "{}");
    files.set("changed.json", JSON.stringify({ ...file, [name]: value }));
    const { code, out } = await verify(["proof", "changed.json", "--keys", "keys.json"], offline);
    expect([name, code]).toEqual([name, 1]);
    expect(out).toContain("This proves nothing.");
  }
  const proof = () => JSON.parse(files.get("countersign-proof.json") ?? "{}");
  /** Rows in which one record gives entries to another, so that the sum stays. */
  function moveEntries(merged: Merged, index: number, isRemoved: boolean): Merged {
    const rows = Array.from({ length: merged.agents }, (_, i) => decodeHeadRow(rowAt(merged.rows, i)));
    const [from, to] = [rows[index], rows[(index + 1) % rows.length]];
    if (!from || !to) throw new Error("too few rows");
    const moved = isRemoved ? from.sequence : from.sequence - 1;
    from.sequence -= moved;
    to.sequence += moved;
    const bytes = concatBytes(
      ...rows
        .filter(({ sequence }) => sequence > 0)
        .map(({ tag, sequence, link }) => concatBytes(tag, encodeUint64(sequence), link)),
    );
    return { ...buildHeadsTree(bytes), rows: bytes };
  }

  beforeAll(async () => {
    for (const slug of ["watched-bot", "watched-bot", "other-bot", "third-bot"]) await attest(slug);
    await attest("watched-bot", { is_public: false });
    files.set("keys.json", JSON.stringify(await read("/v1/pubkey")));
  });

  it("holds from one run to the next while everything grows", async () => {
    const first = await monitor();
    expect(first.out).toContain(
      "the service has signed no count of this log yet: its records are not counted; watched-bot: ",
    );
    expect(first.code).toBe(3);
    await snapshot();
    const second = await monitor();
    expect(second.out).toContain("The service holds.");
    expect(second.code).toBe(0);
    await attest("watched-bot");
    await logPlantedTwice();
    const early = await monitor();
    expect([early.code, early.out]).toEqual([3, expect.stringContaining("counted to number 3 of 4")]);
    expect(early.out).toContain(
      "2 new ones, each in the log, among them 1 schedule of planted requests and 1 opening",
    );
    await snapshot();
    const third = await monitor();
    expect(third.out).toMatch(/pass {2}growth/);
    expect(third.out).toMatch(/1 new ones, each in the log$/m);
    expect(third.out).toMatch(/pass {2}watched-bot snapshot/);
    expect(third.code).toBe(0);
    expect(files.has("countersign-proof.json")).toBe(false);
  });

  it("reads what it kept again, however many agents there are", () => {
    const rows = new Uint8Array(72 * 20_000);
    const kept = { checkpoint: "", statements: 1, snapshot: { statement: {}, rows }, rosters: {} };
    expect(parseRemembered(encodeRemembered(kept)).snapshot?.rows).toHaveLength(rows.length);
  });

  it("finds two worlds: a tree that was signed for somebody else", async () => {
    const honest = files.get("countersign-monitor.json") ?? "";
    const { logSigner } = test.app.context.keys;
    const [origin = "", size] = String(await read("/log/checkpoint")).split("\n");
    const key = makeVerifierKey(origin, 1, logSigner.publicKey);
    for (const lessBy of [0, 1, 3]) {
      const other = { origin, size: Number(size) - lessBy, root: new Uint8Array(32).fill(7) };
      const note = await signCheckpoint(other, key, (bytes) => logSigner.sign(bytes));
      files.set("countersign-monitor.json", JSON.stringify({ ...JSON.parse(honest), checkpoint: note }));
      const { code, out } = await monitor();
      expect([code, out.includes("FAIL  consistency")]).toEqual([1, true]);
      await expectProof("fork", /had two trees of \d+ leaves, both signed/);
      await expectNothing("prefix_root", base64Encode(other.root));
      await expectNothing("older", proof().newer);
      await expectNothing("newer", proof().newer.replace(/^(.*)\n\d+/, "$1\n4711"));
    }
    files.set("countersign-monitor.json", honest);
  });

  it("compares with what witnesses have seen, and finds that they were shown another tree", async () => {
    const { logSigner } = test.app.context.keys;
    const shown = String(await read("/log/checkpoint"));
    const [origin = "", size] = shown.split("\n");
    const other = { origin, size: Number(size) - 1, root: new Uint8Array(32).fill(9) };
    const forged = await signCheckpoint(other, makeVerifierKey(origin, 1, logSigner.publicKey), (bytes) =>
      logSigner.sign(bytes),
    );
    const path = `/w/${createHash("sha256").update(origin).digest("hex")}/checkpoint`;
    const watch = (note: string | undefined) =>
      verify(["monitor", base, "--witness-url", "http://witness.test/w"], (asked) =>
        asked === path ? note : undefined,
      );
    const honest = await watch(shown);
    expect([honest.code, honest.out]).toEqual([
      0,
      expect.stringMatching(/pass {2}witness witness\.test\s+extends/),
    ]);
    expect((await watch(undefined)).out).toContain("the witness has cosigned nothing of this log");
    expect((await watch(forged)).code).toBe(1);
    await expectProof("fork", /had two trees of \d+ leaves, both signed/);
    expect((await monitor()).code).toBe(0);
  });

  it("finds a log that has become smaller, of which it can only testify", async () => {
    const honest = files.get("countersign-monitor.json") ?? "";
    const early = String(await read("/log/checkpoint"));
    await attest("other-bot");
    expect((await monitor()).code).toBe(0);
    const { code, out } = await monitor((path) => (path === "/log/checkpoint" ? early : undefined));
    expect([code, out.includes("entries were taken back")]).toEqual([1, true]);
    expect(proofKind()).toBe("observation");
    const testimony = await verify(["proof", "countersign-proof.json"], offline);
    expect([testimony.code, testimony.out.includes("It proves nothing to others")]).toEqual([3, true]);
    expect(files.get("countersign-monitor.json")).not.toBe(honest);
  });

  it("finds a statement that is not in the log where the list has it, and one that was taken back", async () => {
    const honest = files.get("countersign-monitor.json") ?? "";
    files.set("countersign-monitor.json", JSON.stringify({ ...JSON.parse(honest), statements: 0 }));
    const moved: Lie = (path, answer) =>
      path === "/v1/log/statements"
        ? {
            ...answer,
            statements: (answer["statements"] as JsonObject[]).map((one, i) =>
              i === 0 ? { ...one, log_index: 2 } : one,
            ),
          }
        : undefined;
    expect((await monitor(moved)).out).toMatch(/FAIL {2}statements.*statement 1 is not in the log/);
    files.set("countersign-monitor.json", honest);
    const fewer: Lie = (path, answer) =>
      path === "/v1/log/statements"
        ? { ...answer, statements: (answer["statements"] as JsonObject[]).slice(0, 1) }
        : undefined;
    expect((await monitor(fewer)).out).toMatch(/FAIL {2}statements/);
    expect((await monitor()).code).toBe(0);
  });

  it("finds a record that a later snapshot counts shorter, or no more", async () => {
    const honest = files.get("countersign-monitor.json") ?? "";
    for (const isRemoved of [false, true]) {
      for (const index of [0, 1, 2]) {
        files.set("countersign-monitor.json", honest);
        await attest("third-bot");
        await snapshot((merged) => moveEntries(merged, index, isRemoved));
        const { code, out } = await monitor();
        expect([code, out.includes("FAIL  growth")]).toEqual([1, true]);
        await expectProof(
          "counted_less",
          /(had \d+ (?:entry|entries), and (\d+|is not)|has another number \d+) in the later snapshot/,
        );
        await expectNothing("older", { ...proof().older, row_index: proof().older.row_index + 1 });
      }
    }
    files.set("countersign-monitor.json", honest);
    await attest("third-bot");
    await snapshot();
    expect((await monitor()).code).toBe(0);
  });

  it("takes no file that it has not kept", async () => {
    const honest = files.get("countersign-monitor.json") ?? "";
    files.set("countersign-monitor.json", "{}");
    expect((await monitor()).code).toBe(2);
    files.set("countersign-monitor.json", honest);
    files.set("unknown.json", JSON.stringify({ type: "other", keys: await read("/v1/pubkey") }));
    expect((await verify(["proof", "unknown.json"])).code).toBe(1);
  });

  /** A second payload with the number of the first, signed and logged by the service, in no record. */
  async function signTwice(first: JsonObject) {
    const { signer } = test.app.context.keys;
    const payload = utf8Encode(
      canonicalJson(JSON.parse(String(first["payload"]).replace('"action":"Paid"', '"action":"Paid twice"'))),
    );
    const hidden: LogEntryKind<LogEntry> = { kind: "attestation", admit: async () => [null] };
    const item = { keyId: signer.keyId, build: () => ({ signer, payload }) };
    // The database refuses it; a service that lies has one that does not.
    const allow = "ALTER TABLE log_leaves DROP CONSTRAINT IF EXISTS log_leaves_place";
    await test.query(allow, []);
    const { receipt, sealed } = await test.app.context.log.submit(hidden, item);
    return {
      ...first,
      payload: utf8Decode(payload),
      payload_hash: Buffer.from(sealed.payloadHash).toString("hex"),
      signature: base64Encode(sealed.signature),
      envelope_signature: base64Encode(sealed.envelopeSignature),
      log: { ...receipt },
    };
  }
  const record = (slug: string, receipts: string[], lie?: Lie) =>
    verify(
      ["record", base, slug, "--keys", "keys.json", ...receipts.flatMap((name) => ["--receipt", name])],
      lie,
    );

  it("proves two payloads with one number, from a receipt and the public entry or from two receipts", async () => {
    const shown = await attest("forked-bot");
    files.set("shown.json", JSON.stringify(shown));
    files.set("hidden.json", JSON.stringify(await signTwice(shown)));
    // Uncounted yet, which is no fault.
    expect((await record("forked-bot", ["shown.json"])).code).toBe(3);
    for (const receipts of [["hidden.json"], ["hidden.json", "shown.json"]]) {
      const { code, out } = await record("forked-bot", receipts);
      expect([code, out.includes("countersign-proof.json proves it")]).toEqual([1, true]);
      await expectProof("same_number", /two payloads were signed as number 1 of agent/);
      await expectNothing("other", proof().one);
    }
  });

  it("keeps the proof if the service stops answering, for readers who have its keys", async () => {
    const silent: Lie = (path) => {
      if (path === "/v1/pubkey") throw new Error("connection refused");
      return undefined;
    };
    files.delete("countersign-proof.json");
    expect((await record("forked-bot", ["hidden.json"], silent)).code).toBe(1);
    expect(proof().keys).toBeNull();
    expect((await verify(["proof", "countersign-proof.json", "--keys", "keys.json"], offline)).code).toBe(0);
    const unread = await verify(["proof", "countersign-proof.json"], offline);
    expect([unread.code, unread.out.includes("the file has none")]).toEqual([2, true]);
  });

  it("proves that a private entry's place was given to another, by what was signed later", async () => {
    const shown = await attest("veiled-bot", { is_public: false });
    await attest("veiled-bot", { is_public: false });
    files.set("hidden.json", JSON.stringify(await signTwice(shown)));
    const unproven = await record("veiled-bot", ["hidden.json"]);
    expect([unproven.code, proofKind()]).toEqual([1, "observation"]);
    await attest("veiled-bot");
    const { code } = await record("veiled-bot", ["hidden.json"]);
    expect(code).toBe(1);
    await expectProof("not_in_record", /has another number 1 in the record that the service signed later/);
    await expectNothing("payload_hashes", proof().payload_hashes.slice(1));
    await expectNothing("commitment", { attestation: proof().receipt });
  });

  it("proves that an entry was in the log before a snapshot that does not count it", async () => {
    const kept = await attest("cut-bot");
    const lost = await attest("cut-bot");
    files.set("lost.json", JSON.stringify(lost));
    const { agent_id } = kept.record;
    // The service forgets the entry, and counts this one and the two that were hidden above somewhere else.
    const { database } = test.app.context;
    await database.query(
      "UPDATE agent_records SET sequence = 1, link = (SELECT previous FROM log_leaves WHERE agent_id = $1 AND sequence = 2) WHERE agent_id = $1",
      [agent_id],
    );
    await snapshot((merged) => ({ ...merged, entries: merged.entries + 3 }));
    const cut: Lie = (path, answer) =>
      path.endsWith("/record")
        ? { ...answer, entries: (answer["entries"] as JsonObject[]).slice(0, 1), next: null }
        : undefined;
    const { code, out } = await verify(
      ["record", base, "cut-bot", "--keys", "keys.json", "--receipt", "lost.json"],
      cut,
    );
    expect([code, out.includes("record_entry_absent") || out.includes("does not have number 2")]).toEqual([
      1,
      true,
    ]);
    await expectProof(
      "not_in_record",
      /number 2 of agent .* was in the log, and the later snapshot counts 1/,
    );
    await expectNothing("receipt", kept);
  });

  it("says so if the two are in two logs: the second may have begun after a loss that was admitted", async () => {
    const shown = await attest("moved-bot");
    files.set("shown.json", JSON.stringify(shown));
    const { context } = test.app;
    const guard = await openForkGuard(path.join(test.dataDir, "command"), {
      durable: false,
      now: new Date(),
    });
    await beginEpoch({ ...context, guard, firstOrigin: shown.log.origin }, context.keys);
    guard.close();
    files.set("hidden.json", JSON.stringify(await signTwice(shown)));
    // Published keys are read again every second.
    await vi.waitFor(async () => expect((await read("/v1/pubkey")).keys).toHaveLength(2), {
      timeout: 60_000,
    });
    files.set("keys.json", JSON.stringify(await read("/v1/pubkey")));
    expect((await record("moved-bot", ["hidden.json", "shown.json"])).code).toBe(1);
    const { origin } = shown.log;
    await expectProof("same_number", new RegExp(`in the logs ${origin} and ${origin}/2: ask whether`));
  });
});
