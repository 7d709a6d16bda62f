/**
 * Guarantee: whatever changes who may approve makes the next head of the organization's roster and a statement in the
 * log, whoever does it and in whatever order; a decision is shown the passkey's place in it, and nothing else counts.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { readStatements } from "#lib/log/reading/history";
import {
  base64Decode,
  base64UrlDecode,
  hexDecode,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  buildRosterStatement,
  checkMembership,
  hashGroup,
  parseRosterStatement,
  type RosterHead,
  rosterHash,
  rosterOrganization,
} from "#lib/protocol/passkey/roster";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import type { Context } from "#lib/services/approvals/context";
import { deleteOrganization } from "#lib/services/portal/organization";
import { createPasskey, type TestPasskey } from "#support/authenticator";
import { addConfirmed, tokenOf } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { removeGroup, saveGroup } from "./approver-groups";
import { leaveByLink, listApprovers, removeApprover } from "./approvers";
import { type Approver, beginEnrolment, finishEnrolment, listPasskeys, removePasskey } from "./passkeys";
import { readLastRoster, updateRoster } from "./roster";
import { notePasskeyUse, readEnrolledMembers, readRosterProofs } from "./roster-proofs";

const mailer = { kind: "user", id: "test", ip: null } as const;

describe("the roster of an organization", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let counter = 0;
  beforeAll(async () => {
    ({ context } = test.app);
  });
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(context, `owner${counter}@example.com`);
  });

  const approver = (name: string) =>
    addConfirmed(test, owner, name, `${name.toLowerCase()}${counter}@example.com`);
  async function enrol(of: Approver, name = "Phone", passkey = createPasskey()): Promise<TestPasskey> {
    const { challenge } = await beginEnrolment(context, of);
    await finishEnrolment(context, of, { name, response: passkey.register(challenge) }, mailer);
    return passkey;
  }
  async function group(name: string, ...members: Approver[]): Promise<string> {
    await saveGroup(context, owner, { id: null, name, memberIds: members.map(({ id }) => id) });
    const { groups } = await listApprovers(context, owner);
    return groups.find((one) => one.name === name)?.id ?? "";
  }
  it("has no two names that people take for one another", async () => {
    await approver("Zoë");
    await group("finance");
    const named = (name: string) => group(name);
    for (const [name, words] of [
      ["Finance", "already used"],
      ["finance ", "finance"],
      ["f\u0456nance", "finance"],
      ["fin\u200bance", "finance"],
      ["\uff46inance", "finance"],
      ["Zoe\u0308", "Zoë"],
      ["\u0396oë", "Zoë"],
    ] as const)
      await expect(named(name), name).rejects.toThrow(words);
    await expect(named("finances")).resolves.not.toBe("");
    await expect(named("Zoe")).resolves.not.toBe("");
  });

  const last = async () => {
    const roster = await readLastRoster(context.database.db, owner.organizationId);
    if (roster === null) throw new Error("there is no roster");
    return roster;
  };
  const proofOf = ({ credentialId }: TestPasskey, organizationId = owner.organizationId) =>
    context.database.db.transaction((tx) =>
      readRosterProofs(tx, organizationId, credentialId, { isHeld: true }).then(([own = null]) => own),
    );
  const isStale = async () =>
    (
      await context.database.query("SELECT FROM stale_rosters WHERE organization_id = $1", [
        owner.organizationId,
      ])
    ).rows.length > 0;

  /** The statements of the log that name the organization, each after the one before. */
  async function logged() {
    const { statements } = await readStatements(context.database, { from: 1, limit: 1000 });
    const changes = statements
      .filter((one) => one.kind === "approver_roster")
      .map((one) => ({ ...one, change: parseRosterStatement(utf8Encode(one.payload)) }))
      .filter(({ change }) => change?.organization === rosterOrganization(owner.organizationId));
    for (const [i, { change }] of changes.entries()) {
      expect(change?.number).toBe(i + 1);
      expect(change?.previous).toBe(changes[i - 1]?.change?.roster_hash ?? null);
    }
    return changes;
  }

  it("gets a head and a statement for each change, and none where nothing changes", async () => {
    const [ana, bo] = [await approver("Ana"), await approver("Bo")];
    expect(await readLastRoster(context.database.db, owner.organizationId)).toBeNull();
    const finance = await group("finance", ana);
    expect(await readLastRoster(context.database.db, owner.organizationId)).toBeNull();
    const passkey = await enrol(ana);
    expect((await last()).head).toMatchObject({ number: 1, previous: null, size: 1 });
    await group("legal", bo);
    await saveGroup(context, owner, { id: finance, name: "money", memberIds: [ana.id] });
    expect((await last()).head.number).toBe(1);
    expect(await isStale()).toBe(false);
    await saveGroup(context, owner, { id: finance, name: "money", memberIds: [ana.id, bo.id] });
    expect((await last()).head.number).toBe(1);
    await enrol(bo, "Laptop", createPasskey({ algorithm: "EdDSA" }));
    expect((await last()).head).toMatchObject({ number: 2, size: 2 });
    await removeGroup(context, owner, finance);
    expect((await last()).head.number).toBe(3);
    const [{ id } = { id: "" }] = await listPasskeys(context.database.db, ana.id);
    await removePasskey(context, ana, id, mailer);
    expect((await last()).head).toMatchObject({ number: 4, size: 1 });
    expect(await proofOf(passkey)).toBeNull();
    await removeApprover(context, owner, bo.id);
    expect((await last()).head).toMatchObject({ number: 5, size: 0 });
    expect(await logged()).toHaveLength(5);
    const { rows } = await context.database.query(
      "SELECT changes FROM rosters WHERE organization_id = $1 ORDER BY number",
      [owner.organizationId],
    );
    expect(rows.map(({ changes }) => JSON.parse(String(changes)))).toEqual([
      [{ kind: "passkey_added", person: "Ana", passkey: "Phone", groups: ["finance"] }],
      [{ kind: "passkey_added", person: "Bo", passkey: "Laptop", groups: ["legal", "money"] }],
      [
        { kind: "left", person: "Ana", group: "money" },
        { kind: "left", person: "Bo", group: "money" },
      ],
      [{ kind: "passkey_removed", person: "Ana", passkey: "Phone" }],
      [{ kind: "passkey_removed", person: "Bo", passkey: "Laptop" }],
    ]);
  });

  it("has the database's times, which approvals are compared with, whatever the process's clock says", async () => {
    const ana = await approver("Ana");
    const { clock } = context;
    for (const [index, shiftMs] of [3_600_000, -3_600_000].entries()) {
      context.clock = () => new Date(clock().getTime() + shiftMs);
      await enrol(ana).finally(() => (context.clock = clock));
      const { head, entries } = await last();
      const times = [...entries.map(({ since }) => since).sort(), head.changed_at, clock().toISOString()];
      expect(times).toHaveLength(index + 3);
      expect(times).toEqual(times.toSorted());
    }
  });

  it("ends a person's passkeys with the person, by whatever way they go", async () => {
    const ana = await approver("Ana");
    const passkey = await enrol(ana);
    await leaveByLink(context, await tokenOf(test, ana.email), "192.0.2.9");
    expect(await proofOf(passkey)).toBeNull();
    expect((await last()).head).toMatchObject({ number: 2, size: 0 });
    const bo = await approver("Bo");
    await enrol(bo);
    await deleteOrganization(context, owner, organizationTitle(null));
    expect((await last()).head).toMatchObject({ number: 4, size: 0 });
    expect(await logged()).toHaveLength(4);
    const { rows } = await context.database.query(
      "SELECT details || changes AS kept FROM rosters WHERE organization_id = $1",
      [owner.organizationId],
    );
    expect(JSON.stringify(rows)).not.toMatch(/Ana|Bo|Phone/);
  });

  it("proves a passkey's place and groups with what the log holds", async () => {
    const [ana, bo] = [await approver("Ana"), await approver("Bo")];
    const [finance, legal] = [await group("finance", ana, bo), await group("legal", ana)];
    const passkey = await enrol(ana);
    await enrol(bo);
    const proof = await proofOf(passkey);
    if (proof === null) throw new Error("no proof");
    expect(checkMembership(proof).status).toBe("pass");
    expect(proof.groups.map((one) => one.group).sort()).toEqual([finance, legal].sort());
    expect(proof.approver).toEqual({ id: ana.id, name: "Ana", email: ana.email });
    expect(proof.head.organization).toBe(owner.organizationId);
    const { signer } = context.keys;
    const newest = (await logged()).at(-1);
    expect(newest?.change).toMatchObject({ key_id: signer.keyId, roster_hash: rosterHash(proof.head) });
    expect(newest?.payload).toBe(utf8Decode(buildRosterStatement(proof.head, signer.keyId)));
    const signature = base64Decode(newest?.signature ?? "");
    expect(verifyEd25519Strict(signature, utf8Encode(newest?.payload ?? ""), signer.publicKey)).toBe(true);
    // Another person's entry shows neither groups nor who is in the same one.
    const other = (await last()).entries.find(({ approver_id }) => approver_id === bo.id);
    expect(proof.groups.map(hashGroup).some((hash) => other?.groups.includes(hash))).toBe(false);
    const stranger = await signInPerson(context, `stranger${counter}@example.com`);
    expect(await proofOf(passkey, stranger.organizationId)).toBeNull();
  });

  it("opens no group that the person has left, before the log says so", async () => {
    const ana = await approver("Ana");
    const finance = await group("finance", ana);
    const passkey = await enrol(ana);
    await context.database.query("DELETE FROM approver_groups WHERE group_id = $1", [finance]);
    expect(await isStale()).toBe(true);
    expect((await proofOf(passkey))?.groups).toEqual([]);
    expect(await updateRoster(context, owner.organizationId)).toBe(true);
    expect((await last()).head.number).toBe(2);
  });

  it("counts people, not passkeys, and only those who may", async () => {
    const [ana, bo, cy] = [await approver("Ana"), await approver("Bo"), await approver("Cy")];
    const finance = await group("finance", ana, bo, cy);
    const legal = await group("legal", cy);
    await enrol(ana, "Phone");
    await enrol(ana, "Laptop");
    await enrol(bo);
    const members = (...ids: string[]) => readEnrolledMembers(context.database.db, ids);
    expect(await members(finance, legal)).toEqual(
      new Map([
        [ana.id, [finance]],
        [bo.id, [finance]],
      ]),
    );
    await removeApprover(context, owner, bo.id);
    expect(await members(finance, legal)).toEqual(new Map([[ana.id, [finance]]]));
    expect((await members()).size).toBe(0);
  });

  it("has no gap and no fork under changes at once", async () => {
    const people = await Promise.all(["Ana", "Bo", "Cy", "Di"].map(approver));
    await Promise.all(people.map((one) => enrol(one)));
    const ids = people.map(({ id }) => id);
    await Promise.all(
      [0, 1, 2, 3, 4, 5].map((i) =>
        saveGroup(context, owner, { id: null, name: `group ${i}`, memberIds: ids.slice(0, (i % 4) + 1) }),
      ),
    );
    const { head, entries } = await last();
    // And a name each.
    expect(entries.map((entry) => entry.groups.length).sort()).toEqual([2, 3, 5, 7]);
    expect(await isStale()).toBe(false);
    expect(await logged()).toHaveLength(head.number);
  });

  it("stays as it was stored, and can't be taken back", async () => {
    const ana = await approver("Ana");
    await enrol(ana);
    const change = (sql: string) => context.database.query(sql, [owner.organizationId]);
    for (const sql of [
      "DELETE FROM rosters WHERE organization_id = $1",
      "UPDATE rosters SET entries = '[]' WHERE organization_id = $1",
      "UPDATE rosters SET number = 7 WHERE organization_id = $1",
    ])
      await expect(change(sql)).rejects.toThrow();
    expect((await last()).head.number).toBe(1);
  });

  it("takes each count of a passkey once, and none that goes back", async () => {
    const ana = await approver("Ana");
    const passkey = await enrol(ana);
    const id = (await proofOf(passkey))?.passkeyId ?? "";
    const { db } = context.database;
    const use = (signCount: number) => notePasskeyUse(db, id, { signCount, backedUp: false });
    expect(await use(0)).toBe(true);
    expect(await use(0)).toBe(true);
    expect(await use(5)).toBe(true);
    for (const signCount of [5, 4, 0]) expect(await use(signCount)).toBe(false);
    expect(await Promise.all([use(6), use(6)])).toSatisfy(
      (all: boolean[]) => all.filter(Boolean).length === 1,
    );
    await removePasskey(context, ana, id, mailer);
    expect(await use(7)).toBe(false);
  });

  it("names the organization to who knows its id alone", async () => {
    const ana = await approver("Ana");
    const passkey = await enrol(ana);
    const [change] = await logged();
    const secrets = [owner.organizationId, ana.id, passkey.credentialId, "Ana"];
    for (const secret of secrets) expect(change?.payload).not.toContain(secret);
    expect(hexDecode(change?.change?.roster_hash ?? "")).toHaveLength(32);
    expect(base64UrlDecode(passkey.publicKey)).toHaveLength(77);
    const head: RosterHead = (await last()).head;
    expect(change?.change?.roster_hash).toBe(rosterHash(head));
  });
});
