/** Rows, their order and their tree, against plain computations with node:crypto. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bytesEqual, concatBytes, hexEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { leafHash, rootOfLeafHashes, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { proveInclusion } from "#lib/protocol/tlog/tiles";
import {
  agentTag,
  buildHeadsStatement,
  buildHeadsTree,
  compareBytes,
  countRows,
  decodeHeadRow,
  findRow,
  HEAD_ROW_BYTES,
  headsTileReader,
  isOfStatement,
  mergeHeads,
  parseHeadsStatement,
  rowAt,
} from "./agent-heads";
import { encodeUint64 } from "./agent-record";

const hash = (...parts: (string | Uint8Array)[]) => {
  const made = createHash("sha256");
  for (const part of parts) made.update(part);
  return new Uint8Array(made.digest());
};
const agentId = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
const saltOf = (n: number) => hash("salt", String(n)).slice(0, 16);
/** Row in the database's form. */
const given = (n: number, sequence = n + 1) =>
  concatBytes(saltOf(n), utf8Encode(agentId(n)), encodeUint64(sequence), hash("link", `${n}/${sequence}`));
const manyGiven = (count: number) => concatBytes(...Array.from({ length: count }, (_, n) => given(n)));
const none = new Uint8Array();
const rowsOf = (rows: Uint8Array) => Array.from({ length: countRows(rows) }, (_, i) => rowAt(rows, i));

describe("a snapshot of agents' heads", () => {
  it("has a row for each agent: tag, sequence, link", () => {
    const { rows } = mergeHeads(none, given(5));
    const link = hash("link", "5/6");
    const tag = hash("countersign/agent-tag/v1\n", saltOf(5), agentId(5));
    expect(agentTag(saltOf(5), agentId(5))).toEqual(tag);
    expect(hexEncode(rows)).toBe(`${hexEncode(tag)}0000000000000006${hexEncode(link)}`);
    expect(decodeHeadRow(rows)).toEqual({ tag, sequence: 6, link });
  });

  it.each([0, 1, 2, 255, 256, 257, 600])(
    "has the RFC 6962 root over %i sorted rows, and proves each",
    async (count) => {
      const tree = mergeHeads(none, manyGiven(count));
      const rows = rowsOf(tree.rows);
      expect(rows).toEqual([...rows].sort(compareBytes));
      expect(hexEncode(tree.root)).toBe(hexEncode(rootOfLeafHashes(rows.map(leafHash))));
      expect(tree).toMatchObject({ agents: count, entries: (count * (count + 1)) / 2 });
      expect(tree.digest).toEqual(hash(tree.rows));
      const read = headsTileReader(count, tree.nodes, async (start, size) =>
        tree.rows.slice(start * HEAD_ROW_BYTES, (start + size) * HEAD_ROW_BYTES),
      );
      for (let index = 0; index < count; index += 1 + Math.floor(count / 20)) {
        const proof = await proveInclusion(index, count, read);
        const claim = {
          leafHash: leafHash(rows[index] as Uint8Array),
          index,
          size: count,
          proof,
          root: tree.root,
        };
        expect(verifyInclusion(claim)).toBe(true);
      }
    },
  );

  it("proves rows above 65,536 agents, where the tree has three levels of tiles", async () => {
    const count = 66_000;
    const rows = new Uint8Array(count * HEAD_ROW_BYTES);
    for (let n = 0; n < count; n += 1) rows.set(encodeUint64(n), n * HEAD_ROW_BYTES);
    for (let n = 0; n < count; n += 1) rows[n * HEAD_ROW_BYTES + 39] = 1;
    const tree = buildHeadsTree(rows);
    expect(tree.agents).toBe(count);
    const read = headsTileReader(count, tree.nodes, async (start, size) =>
      rows.slice(start * HEAD_ROW_BYTES, (start + size) * HEAD_ROW_BYTES),
    );
    for (const index of [0, 65_535, 65_536, 65_999]) {
      const proof = await proveInclusion(index, count, read);
      const claim = { leafHash: leafHash(rowAt(rows, index)), index, size: count, proof, root: tree.root };
      expect(verifyInclusion(claim)).toBe(true);
    }
  });

  it("is the same whether all heads are read or only those that have changed", () => {
    const before = mergeHeads(none, manyGiven(300));
    const changed = concatBytes(given(7, 900), given(299, 901), given(1000), given(1001));
    const all = concatBytes(
      ...Array.from({ length: 300 }, (_, n) =>
        n === 7 ? given(7, 900) : n === 299 ? given(299, 901) : given(n),
      ),
      given(1001),
      given(1000),
    );
    expect(mergeHeads(before.rows, changed)).toEqual(mergeHeads(none, all));
    expect(mergeHeads(before.rows, none)).toEqual(before);
  });

  it("finds a tag's row, or the place where it would be", () => {
    const { rows } = mergeHeads(none, manyGiven(50));
    const tag = rowAt(rows, 31).slice(0, 32);
    expect(findRow(rows, tag)).toEqual({ index: 31, isThere: true });
    const other = agentTag(saltOf(4711), agentId(4711));
    const { index, isThere } = findRow(rows, other);
    expect(isThere).toBe(false);
    if (index > 0) expect(compareBytes(rowAt(rows, index - 1).subarray(0, 32), other)).toBeLessThan(0);
    if (index < 50) expect(compareBytes(rowAt(rows, index).subarray(0, 32), other)).toBeGreaterThan(0);
    expect(findRow(none, tag)).toEqual({ index: 0, isThere: false });
  });

  it("takes no rows that are broken, out of order or there twice", () => {
    const [first, second] = rowsOf(mergeHeads(none, manyGiven(2)).rows) as [Uint8Array, Uint8Array];
    for (const rows of [
      concatBytes(second, first),
      concatBytes(first, first),
      first.subarray(1),
      concatBytes(first.subarray(0, 32), encodeUint64(0), first.subarray(40)),
    ])
      expect(() => buildHeadsTree(rows)).toThrow(RangeError);
    expect(() => mergeHeads(none, given(1).subarray(1))).toThrow(RangeError);
  });

  it("is named by its statement, in numbers and by the digest of its rows", () => {
    const tree = mergeHeads(none, manyGiven(3));
    const about = {
      log_origin: "example.com/log",
      covers_size: 9,
      statements: 3,
      earlier_size: 0,
      at: "2026-11-22T10:00:00.000Z",
      signed_by: "key",
    };
    const payload = buildHeadsStatement(tree, about);
    const heads = parseHeadsStatement(payload);
    expect(heads).toMatchObject({ ...about, agents: 3, entries: 6, digestHex: hexEncode(tree.digest) });
    expect(heads !== null && isOfStatement(tree, heads)).toBe(true);
    expect(heads !== null && isOfStatement(mergeHeads(none, manyGiven(2)), heads)).toBe(false);
    const text = utf8Decode(payload);
    for (const changed of [
      text.replace('"agents":3', '"agents":"3"'),
      text.replace("agent-heads/v1", "agent-heads/v2"),
      text.replace('"name":"agent-heads"', '"name":"heads"'),
      `${text} `,
    ])
      expect(parseHeadsStatement(utf8Encode(changed))).toBeNull();
    expect(bytesEqual(payload, utf8Encode(text))).toBe(true);
  });
});
