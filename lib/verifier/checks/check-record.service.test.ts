/** A service that lies about an agent's record: each way is caught, and named. */
import { beforeAll, describe, expect, it } from "vitest";
import type { RecordEntry, RecordResponse } from "#lib/api/schemas/record";
import { hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import { emptyRecord, extendRecord } from "#lib/protocol/record/agent-record";
import { ask } from "#support/authorizations";
import { makeDecidedReceipt } from "#support/decided-receipt";
import { setupTestApp } from "#support/setup-app";
import { checkRecord } from "./check-record";
import { UnreadableError } from "./evidence";
import { parseTrust, type VerifierTrust } from "./trust";

const slug = "watched-bot";
const nowSeconds = Math.floor(Date.now() / 1_000);
/** Service that has made no snapshot yet. */
const unasked = {
  readRows: () => Promise.reject(new Error("not asked for")),
  readStatements: async () => ({ statements: [], next: null }),
};
type Lie = (record: RecordResponse) => RecordResponse;

describe("the record of an agent, as an outsider follows it", () => {
  const { test, key } = setupTestApp();
  let trust: VerifierTrust;
  /** Answers to their makers, by number in the record. */
  const held = new Map<number, string>();

  const attest = async (more: object = {}) => {
    const body = { agent_slug: slug, action: "Paid", inputs_hash: "abc", ...more };
    const answer = await test.call("POST", "/v1/attest", { key, body });
    held.set(answer.body.record.sequence, JSON.stringify(answer.body));
    return answer.body;
  };
  const read = async (path: string) => (await test.call("GET", path)).body;

  /** In pages of three, after the lie. */
  const sourceWith = (lie: Lie) => ({
    readPage: async (from: number) => {
      const { entries, ...record } = lie(structuredClone(await read(`/v1/agent/${slug}/record`)));
      const shown = entries.filter(({ sequence }) => sequence >= from).slice(0, 3);
      const last = shown.at(-1)?.sequence ?? 0;
      const isMore = entries.some(({ sequence }) => sequence > last);
      return { ...record, entries: shown, next: isMore ? last + 1 : null };
    },
    readAnswer: async (id: string) => JSON.stringify(await read(`/v1/verify/${id}`)),
    ...unasked,
  });
  const check = (lie: Lie = (record) => record, receipts: number[] = []) =>
    checkRecord(sourceWith(lie), trust, {
      nowSeconds,
      receipts: receipts.map((number) => held.get(number) ?? ""),
    });
  const failed = async (...given: Parameters<typeof check>) => {
    const { checks, verdict } = await check(...given);
    expect(verdict).toBe("invalid");
    return checks.filter(({ status }) => status === "fail").map(({ name, reason }) => `${name}: ${reason}`);
  };
  const without = (entries: RecordEntry[], number: number) =>
    entries.filter(({ sequence }) => sequence !== number);
  const renumber = (entries: RecordEntry[]) => entries.map((entry, i) => ({ ...entry, sequence: i + 1 }));

  /** The head that a liar would show over these entries. */
  const withHead: Lie = (record) => {
    let head = emptyRecord(record.agent_id);
    for (const { payload_hash } of record.entries) head = extendRecord(head, hexDecode(payload_hash));
    return { ...record, head: { sequence: head.sequence, link: hexEncode(head.link) } };
  };

  beforeAll(async () => {
    await attest();
    await attest({ is_public: false });
    const gone = await attest();
    await (await ask(test, key, { agent_slug: slug })).deny();
    await attest();
    await attest({ is_public: false });
    await attest();
    await attest({ is_public: false });
    await test.call("DELETE", `/v1/attestations/${gone.attestation_id}/content`, { key });
    trust = parseTrust(await read("/v1/pubkey"));
  });

  it("holds, with private, erased and decided in their places", async () => {
    const report = await check(undefined, [1, 2, 8]);
    expect(report.checks.map(({ name, status }) => [name, status])).toEqual([
      ["entries", "pass"],
      ["head", "pass"],
      ["newest_signed", "pass"],
      ["snapshot", "not_applicable"],
      ["sum", "not_applicable"],
      ["counted", "not_applicable"],
      ["receipts", "pass"],
    ]);
    expect(report).toMatchObject({ slug, verdict: "incomplete", claimed: 8, head: { sequence: 8 } });
    expect(report.marks).toEqual([
      "public",
      "private",
      "erased",
      "decision",
      "public",
      "private",
      "public",
      "private",
    ]);
    const { checks } = await check();
    expect(checks.at(-1)).toMatchObject({ status: "not_applicable", reason: "record_no_receipts" });
    const hidden = await check((record) => ({
      ...record,
      entries: record.entries.map(({ attestation_id: _, public_url: __, ...entry }) => ({
        ...entry,
        visibility: "private",
      })),
    }));
    const newest = hidden.checks.find(({ name }) => name === "newest_signed");
    expect(newest).toMatchObject({ status: "not_applicable", reason: "record_nothing_public" });
  });

  it("finds one left out in the middle, whether its number is missing or given to the next", async () => {
    expect(await failed((record) => ({ ...record, entries: without(record.entries, 4) }))).toEqual([
      "entries: record_number_missing",
    ]);
    const shifted: Lie = (record) => ({ ...record, entries: renumber(without(record.entries, 4)) });
    expect(await failed(shifted)).toEqual(["head: record_head_mismatch"]);
    expect(await failed((record) => withHead(shifted(record)))).toEqual([
      "newest_signed: record_entry_mismatch",
    ]);
  });

  it("finds a private one that was swapped, by the signature of the public one after it", async () => {
    const swap: Lie = ({ entries, ...record }) => ({
      ...record,
      entries: entries.map((entry) =>
        entry.sequence === 6 ? { ...entry, payload_hash: "0".repeat(64) } : entry,
      ),
    });
    expect(await failed(swap)).toEqual(["head: record_head_mismatch"]);
    expect(await failed((record) => withHead(swap(record)))).toEqual(["newest_signed: record_broken"]);
  });

  it("finds entries in another order than the log's", async () => {
    const swap: Lie = ({ entries, ...record }) => ({
      ...record,
      entries: renumber([...without(without(entries, 7), 8), ...entries.slice(6).reverse()]),
    });
    expect(await failed(swap)).toEqual(["entries: record_out_of_order"]);
  });

  it("finds a tail that was cut, by its head, and if that was cut too, by a receipt", async () => {
    const cut: Lie = (record) => ({ ...record, entries: without(record.entries, 8) });
    expect(await failed(cut)).toEqual(["head: record_head_mismatch"]);
    expect((await check((record) => withHead(cut(record)))).verdict).toBe("incomplete");
    expect(await failed((record) => withHead(cut(record)), [8])).toEqual(["receipts: record_entry_absent"]);
  });

  it("finds a fork by the receipt that the other branch leaves out", async () => {
    const fork: Lie = ({ entries, ...record }) => ({
      ...record,
      entries: entries.map((entry) =>
        entry.sequence === 8 ? { ...entry, payload_hash: "0".repeat(64) } : entry,
      ),
    });
    expect(await failed((record) => withHead(fork(record)), [8])).toEqual(["entries: record_entry_mismatch"]);
  });

  it("finds the answer to POST, which has no tool list to check the tools by", async () => {
    const name = "tooled-bot";
    await test.call("POST", "/v1/identity/register", { key, body: { slug: name, tools: ["pay"] } });
    const body = { agent_slug: name, action: "Paid", inputs_hash: "abc", tools_used: ["pay"] };
    const posted = await test.call("POST", "/v1/attest", { key, body });
    const { checks } = await checkRecord(
      { ...sourceWith((record) => record), readPage: () => read(`/v1/agent/${name}/record`) },
      trust,
      { nowSeconds, receipts: [JSON.stringify(posted.body)] },
    );
    expect(checks.at(-1)).toMatchObject({ name: "receipts", status: "pass" });
  });

  it("takes no receipt that does not verify, or of another agent", async () => {
    const changed = JSON.stringify({ ...JSON.parse(held.get(1) ?? ""), signature: `${"A".repeat(86)}==` });
    const { checks } = await checkRecord(
      sourceWith((record) => record),
      trust,
      { nowSeconds, receipts: [changed] },
    );
    expect(checks.at(-1)).toMatchObject({ status: "fail", reason: "record_receipt_invalid" });
    const other = await test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: "other-bot", action: "Paid", inputs_hash: "abc" },
    });
    const report = await checkRecord(
      sourceWith((record) => record),
      trust,
      { nowSeconds, receipts: [JSON.stringify(other.body)] },
    );
    expect(report.verdict).toBe("invalid");
  });

  it("finds another decision than the one behind a receipt, of the newest or of one that is held", async () => {
    const follow = async (listed?: Uint8Array) => {
      const { answer, keys, record } = await makeDecidedReceipt({ isApart: true, ...(listed && { listed }) });
      const text = JSON.stringify(answer);
      const source = { readPage: async () => record, readAnswer: async () => text, ...unasked };
      const judge = async (receipts: string[]) => {
        const report = await checkRecord(source, parseTrust(keys), { nowSeconds: null, receipts });
        return report.checks.flatMap(({ name, status, reason }) =>
          status === "fail" ? `${name}: ${reason}` : [],
        );
      };
      return [await judge([]), await judge([text])];
    };
    expect(await follow()).toEqual([[], []]);
    expect(await follow(new Uint8Array(32))).toEqual([
      ["newest_signed: record_entry_mismatch"],
      ["entries: record_entry_mismatch"],
    ]);
  });

  it("finds two attestations that one decision is behind", async () => {
    const { answer, again, keys, record } = await makeDecidedReceipt({ isTwice: true });
    const [first, newest] = [JSON.stringify(answer), JSON.stringify(again)];
    const source = { readPage: async () => record, readAnswer: async () => newest, ...unasked };
    const judge = async (...receipts: string[]) => {
      const report = await checkRecord(source, parseTrust(keys), { nowSeconds: null, receipts });
      return report.checks.flatMap(({ name, status, reason }) =>
        status === "fail" ? `${name}: ${reason}` : [],
      );
    };
    expect(await judge()).toEqual([]);
    expect(await judge(newest, newest)).toEqual([]);
    expect(await judge(first)).toEqual(["newest_signed: authorization_mismatch"]);
    expect(await judge(first, newest)).toContain("receipts: authorization_mismatch");
  });

  it("finds a changed request that was approved before the one that it changes was cancelled", async () => {
    const judge = async (cancelled: "before" | "after", isHeld: boolean) => {
      const { answer, keys, record } = await makeDecidedReceipt({ cancelled });
      const newest = JSON.stringify(answer);
      const source = { readPage: async () => record, readAnswer: async () => newest, ...unasked };
      const receipts = isHeld ? [newest] : [];
      const report = await checkRecord(source, parseTrust(keys), { nowSeconds: null, receipts });
      return report.checks.flatMap(({ name, status, reason }) =>
        status === "fail" ? `${name}: ${reason}` : [],
      );
    };
    expect(await judge("before", true)).toEqual([]);
    expect(await judge("after", false)).toEqual(["newest_signed: record_amended_open"]);
    expect(await judge("after", true)).toContain("receipts: record_amended_open");
  });

  it("ends at the head that the first page states, however the pages go on", async () => {
    const honest = await read(`/v1/agent/${slug}/record`);
    const asked: number[] = [];
    const follow = async (lie: (from: number) => object) => {
      asked.length = 0;
      const readPage = async (from: number) => {
        asked.push(from);
        const entries = honest.entries.slice(from - 1, from + 2);
        return { ...honest, entries, next: from + entries.length, ...lie(from) };
      };
      const source = { ...sourceWith((record) => record), readPage };
      const { checks } = await checkRecord(source, trust, { nowSeconds });
      return checks[0]?.reason ?? checks[0]?.status;
    };
    expect(await follow(() => ({}))).toBe("pass");
    // A record that grows faster than it is read.
    expect(await follow((from) => ({ head: { ...honest.head, sequence: 8 + from - 1 } }))).toBe("pass");
    expect(asked).toEqual([1, 4, 7]);
    const endless = [
      (from: number) => ({ entries: [], next: from }),
      (from: number) => ({ entries: [], next: from + 1 }),
      () => ({ next: 1 }),
      (from: number) => (from === 1 ? { next: 5 } : {}),
      (from: number) => ({ next: from === 1 ? 4 : 4_711 }),
    ];
    for (const lie of endless) expect(await follow(lie)).toBe("page_unending");
    expect(asked).toEqual([1, 4]);
  });

  it("is the agent's whose name was asked for, and whose newest public entry names it", async () => {
    const source = sourceWith((record) => record);
    const asked = await checkRecord(source, trust, { nowSeconds, slug: "other-bot" });
    expect(asked.checks[0]).toMatchObject({ name: "entries", reason: "record_of_another" });
    expect(await failed((record) => ({ ...record, slug: "clean-bot" }))).toEqual([
      "newest_signed: record_of_another",
    ]);
    expect((await checkRecord(source, trust, { nowSeconds, slug: slug.toUpperCase() })).verdict).toBe(
      "incomplete",
    );
  });

  it("refuses to read what is no record", async () => {
    for (const broken of [
      { next: "1" },
      { entries: {} },
      { head: {} },
      { entries: [{ sequence: 1 }] },
      { agent_id: 5 },
    ]) {
      const source = {
        readPage: async () => ({ ...(await read(`/v1/agent/${slug}/record`)), ...broken }),
        readAnswer: () => Promise.reject(new Error("not asked for")),
        ...unasked,
      };
      await expect(checkRecord(source, trust, { nowSeconds })).rejects.toThrow(UnreadableError);
    }
  });
});
