/** Links by node:crypto beside ours, the check of a place between its neighbours, and the walk from end to end. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { checkAgentRecord, type Subject, walkRecord } from "#lib/verifier/checks/record-checks";
import {
  emptyRecord,
  extendRecord,
  isRecordPlace,
  nextPlace,
  type RecordHead,
  type RecordNeighbours,
} from "./agent-record";

const agentId = "019a0000-0000-7000-8000-000000000001";
const hashes = ["a", "b", "c", "d"].map((text) => sha256(utf8Encode(text)));

/** heads[n] is the head after n entries. */
const heads: RecordHead[] = [emptyRecord(agentId)];
for (const hash of hashes) heads.push(extendRecord(heads.at(-1) as RecordHead, hash));
const headAt = (n: number) => heads[n] as RecordHead;
const hashAt = (n: number) => hashes[n - 1] as Uint8Array;

function linkByHand(previous: Uint8Array, sequence: number, payloadHash: Uint8Array): string {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(sequence));
  const hash = createHash("sha256").update("countersign/agent-record/v1\n");
  return hash.update(previous).update(number).update(payloadHash).digest("hex");
}

/** Number `n` as the service shows it. */
function subjectAt(n: number, changes: Partial<RecordNeighbours> = {}): Subject {
  const place = nextPlace(agentId, headAt(n - 1));
  const neighbour = (m: number) =>
    m < 1 || m > hashes.length ? null : { previous: headAt(m - 1).link, payloadHash: hashAt(m) };
  const neighbours = { before: neighbour(n - 1), after: neighbour(n + 1), head: headAt(hashes.length) };
  const receipt = { payloadHash: hashAt(n), record: { place, neighbours: { ...neighbours, ...changes } } };
  return { receipt, statement: { predicate: { record: place } } } as unknown as Subject;
}

describe("the record of an agent", () => {
  it("links as its definition says", () => {
    const genesis = createHash("sha256").update(`countersign/agent-record/v1\n${agentId}`).digest();
    expect(hexEncode(emptyRecord(agentId).link)).toBe(genesis.toString("hex"));
    for (let n = 1; n <= hashes.length; n += 1)
      expect(hexEncode(headAt(n).link)).toBe(linkByHand(headAt(n - 1).link, n, hashAt(n)));
    expect(nextPlace(agentId, headAt(2))).toEqual({
      agent_id: agentId,
      sequence: 3,
      previous: hexEncode(headAt(2).link),
    });
  });

  it.each([2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER])("writes the number %i", (number) => {
    const [previous, hash] = [headAt(1).link, hashAt(1)];
    const { link } = extendRecord({ sequence: number - 1, link: previous }, hash);
    expect(hexEncode(link)).toBe(linkByHand(previous, number, hash));
  });

  it("takes a place only in its one spelling", () => {
    const place = nextPlace(agentId, headAt(0));
    expect(isRecordPlace(place)).toBe(true);
    const { previous: _previous, ...incomplete } = place;
    for (const wrong of [
      null,
      incomplete,
      { ...place, more: 1 },
      { ...place, sequence: 0 },
      { ...place, sequence: 1.5 },
      { ...place, sequence: "1" },
      { ...place, agent_id: agentId.toUpperCase().replace("9A", "9B") },
      { ...place, previous: place.previous.toUpperCase() },
      { ...place, previous: place.previous.slice(1) },
    ])
      expect(isRecordPlace(wrong)).toBe(false);
  });

  it("has every number fit its neighbours and the head", () => {
    for (let n = 1; n <= hashes.length; n += 1)
      expect(checkAgentRecord(subjectAt(n))).toEqual({
        status: "pass",
        detail: `number ${n} in the agent's record`,
      });
  });

  it("finds a neighbour or head that does not fit", () => {
    const other = hexDecode("0".repeat(64));
    const outcomes = [
      subjectAt(1, { before: { previous: other, payloadHash: hashAt(1) } }),
      subjectAt(2, { before: null }),
      subjectAt(2, { before: { previous: headAt(0).link, payloadHash: hashAt(2) } }),
      subjectAt(2, { before: { previous: other, payloadHash: hashAt(1) } }),
      subjectAt(2, { after: { previous: headAt(1).link, payloadHash: hashAt(3) } }),
      subjectAt(2, { after: null }),
      subjectAt(3, { after: { previous: headAt(3).link, payloadHash: hashAt(3) } }),
      subjectAt(2, { before: { previous: headAt(0).link, payloadHash: other.subarray(1) } }),
      subjectAt(4, { head: { ...headAt(4), link: other } }),
      subjectAt(4, { head: headAt(3) }),
      subjectAt(2, { head: headAt(1) }),
    ].map(checkAgentRecord);
    expect(outcomes.map(({ reason }) => reason)).toEqual(outcomes.map(() => "record_broken"));
  });

  it("is walked to its head, and nowhere else", () => {
    const walk = walkRecord(agentId);
    for (const [i, payloadHash] of hashes.entries()) {
      const entry = {
        sequence: i + 1,
        payloadHash,
        logOrigin: i < 2 ? "a" : "b",
        logIndex: i < 2 ? i + 7 : i,
      };
      const signed = { place: nextPlace(agentId, headAt(i)), payloadHash };
      const broken = { ...signed, place: { ...signed.place, previous: hexEncode(headAt(3).link) } };
      if (i !== 3) expect(walk.add(entry, broken)).toMatchObject({ reason: "record_broken" });
      const elsewhere = { ...signed, place: { ...signed.place, sequence: i + 2 } };
      expect(walk.add(entry, elsewhere)).toMatchObject({ reason: "record_entry_mismatch" });
      expect(walk.add({ ...entry, sequence: i + 2 })).toMatchObject({ reason: "record_number_missing" });
      expect(walk.add(entry, signed)).toBeNull();
    }
    expect(walk.end(headAt(4))).toBeNull();
    expect(walk.end(headAt(3))).toMatchObject({ reason: "record_head_mismatch" });
    const back = { sequence: 5, payloadHash: hashAt(1), logOrigin: "a", logIndex: 99 };
    expect(walk.add(back)).toMatchObject({ reason: "record_out_of_order" });
  });
});
