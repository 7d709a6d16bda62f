/** Rosters of another implementation (vectors/make_rosters.py), and each of their fields changed. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  buildRosterHead,
  buildRosterStatement,
  checkMembership,
  isRosterEntry,
  isRosterHead,
  type Membership,
  orderEntries,
  parseRosterStatement,
  proveMembership,
  type RosterHead,
  rosterHash,
} from "./roster";

interface Vectors {
  rosters: { head: RosterHead; hash: string; members: Omit<Membership, "head">[] }[];
  statement: string;
}

const file = path.resolve("lib/protocol/passkey/vectors/rosters.json");
const { rosters, statement } = JSON.parse(readFileSync(file, "utf8")) as Vectors;
const sized = (size: number) => rosters.find(({ head }) => head.size === size) as Vectors["rosters"][number];

describe("a roster of another implementation", () => {
  it.each(rosters.map((roster) => [roster.head.size, roster] as const))(
    "of %i entries has the same root, hash and proofs",
    (_, { head, hash, members }) => {
      const entries = orderEntries(members.map(({ entry }) => entry).reverse());
      expect(buildRosterHead(entries, head)).toEqual(head);
      expect(rosterHash(head)).toBe(hash);
      expect(isRosterHead(head)).toBe(true);
      for (const member of members) {
        expect(proveMembership(entries, member.index)).toEqual(member.proof);
        expect(checkMembership({ head, ...member }).status).toBe("pass");
      }
    },
  );

  it("has the same statement", () => {
    const { head, hash } = rosters[1] as Vectors["rosters"][number];
    const bytes = buildRosterStatement(head, "0123456789abcdef");
    expect(utf8Decode(bytes)).toBe(statement);
    expect(parseRosterStatement(bytes)).toMatchObject({ number: 2, roster_hash: hash });
  });
});

/** Every value that differs from this one in one place, with where. */
function* alter(value: unknown): Generator<[where: string, altered: unknown]> {
  if (typeof value === "string") {
    for (const at of [0, Math.floor(value.length / 2), value.length - 1]) {
      const other = value[at] === "7" ? "8" : "7";
      yield [`[${at}]`, value.slice(0, at) + other + value.slice(at + 1)];
    }
    yield [" cut", value.slice(0, -1)];
    yield [" longer", `${value}0`];
  } else if (typeof value === "number")
    for (const by of [-1, 0.5, 1, 2 ** 32]) yield [` + ${by}`, value + by];
  else if (value === null) yield [" given", "0".repeat(64)];
  else if (typeof value === "object") {
    for (const [name, member] of Object.entries(value)) {
      for (const [where, altered] of alter(member))
        yield [`.${name}${where}`, replaceMember(value, name, altered)];
      yield [`.${name} null`, replaceMember(value, name, null)];
    }
    const more = Array.isArray(value) ? [...value, "0".repeat(64)] : { ...value, more: 1 };
    yield [" with one more", more];
  }
}

const replaceMember = (value: object, name: string, member: unknown) =>
  Array.isArray(value)
    ? value.map((one, i) => (String(i) === name ? member : one))
    : { ...value, [name]: member };

describe("checkMembership", () => {
  const { head, members } = sized(5);
  const member = members.find(({ groups }) => groups.length > 1) as Omit<Membership, "head">;
  const good: Membership = { head, ...member };

  it("fails with any part of the membership changed", () => {
    let count = 0;
    for (const [where, changed] of alter(good)) {
      // A reference to the roster's hash reveals changes of these.
      const isOutsideTree = /^\.head\.(organization|number|previous|changed_at|size)/.test(where);
      const isSame = rosterHash((changed as Membership).head ?? {}) === rosterHash(head);
      if (where === " with one more") continue;
      if (isOutsideTree) expect(isSame, where).toBe(false);
      else expect(checkMembership(changed as Membership).status, where).toBe("fail");
      count += 1;
    }
    expect(count).toBeGreaterThan(80);
  });

  it("says what is wrong", () => {
    const reasonOf = (change: Partial<Membership>) => checkMembership({ ...good, ...change }).reason;
    const other = members.find(({ groups }) => groups.length === 0) as Omit<Membership, "head">;
    expect(reasonOf({})).toBeUndefined();
    expect(reasonOf({ head: { ...head, previous: null } })).toBe("roster_malformed");
    expect(reasonOf({ entry: { ...good.entry, groups: [] } })).toBe("roster_proof_invalid");
    expect(reasonOf({ index: other.index })).toBe("roster_proof_invalid");
    expect(reasonOf({ proof: good.proof.slice(1) })).toBe("roster_proof_invalid");
    expect(reasonOf({ proof: ["AAAA"] })).toBe("roster_malformed");
    expect(checkMembership({ head, ...other, groups: good.groups }).reason).toBe("roster_group_mismatch");
    expect(checkMembership({ ...good, head: sized(3).head }).reason).toBe("roster_proof_invalid");
    expect(checkMembership({ ...good, head: sized(0).head }).reason).toBe("roster_proof_invalid");
  });

  it("knows an entry's one shape", () => {
    expect(isRosterEntry(good.entry)).toBe(true);
    const { groups } = good.entry;
    expect(isRosterEntry({ ...good.entry, groups: [...groups].reverse() })).toBe(false);
    expect(isRosterEntry({ ...good.entry, groups: [groups[0], groups[0]] })).toBe(false);
    expect(isRosterEntry({ ...good.entry, credential_id: "" })).toBe(false);
    expect(isRosterEntry({ ...good.entry, since: "2026-02-30T08:00:00.000Z" })).toBe(false);
    expect(() => orderEntries([good.entry, good.entry])).toThrow(RangeError);
  });
});

describe("the statement of a roster's change", () => {
  const keyId = "0123456789abcdef";
  const { head } = sized(5);

  it("is read in the one form in which it is written", () => {
    const bytes = buildRosterStatement(head, keyId);
    const read = parseRosterStatement(bytes);
    expect(read).toMatchObject({ number: head.number, previous: head.previous, key_id: keyId });
    const value = JSON.parse(utf8Decode(bytes));
    for (const [where, changed] of alter(value)) {
      const again = parseRosterStatement(utf8Encode(JSON.stringify(changed)));
      if (again !== null) expect(again, where).not.toEqual(read);
    }
    const parse = (change: object, top: object = {}) =>
      parseRosterStatement(
        utf8Encode(JSON.stringify({ ...value, ...top, predicate: { ...value.predicate, ...change } })),
      );
    expect(parse({})).toEqual(read);
    expect(parse({ more: 1 })).toBeNull();
    expect(parse({ number: 1 })).toBeNull();
    expect(parse({ previous: null })).toBeNull();
    expect(parse({ changed_at: "now" })).toBeNull();
    expect(parse({}, { predicateType: "https://countersign.dev/key-event/v1" })).toBeNull();
    expect(parse({}, { subject: [...value.subject, ...value.subject] })).toBeNull();
    expect(parseRosterStatement(utf8Encode(` ${utf8Decode(bytes)}`))).toBeNull();
  });
});
