/**
 * Guarantee: attention is measured only of groups whose owner turned it on, from then on and never by person; the evidence
 * pack has the numbers that follow from its decisions, and others are found.
 */
import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { approvers, auditEvents, groupReadings } from "#lib/db/schema";
import type { GroupAttention } from "#lib/protocol/approval/attention";
import { toByteSource } from "#lib/protocol/encoding/zip";
import { encodePackJson, packFiles } from "#lib/protocol/pack/pack-manifest";
import { approvalChallenge, type PasskeyDecision } from "#lib/protocol/passkey/assertion";
import { measureAttention, saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers } from "#lib/services/accounts/approvers";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { checkPack } from "#lib/verifier/pack/check-pack";
import { ask, fromPage } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolGroup } from "#support/enrol";
import { collect, forge, type Json, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { exportAttention, readAttention } from "./attention";
import { readApprovalView } from "./decision/inbox";

const ownerEmail = "owner@example.com";
const dayMs = 86_400_000;

describe("attention of a group", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });
  let owner: MemberPrincipal;
  let key: string;
  let people: Awaited<ReturnType<typeof enrolGroup>>;
  let groupId: string;
  /** Milliseconds that each measured decision took: a busy machine isn't hasty. */
  const waited: number[] = [];
  const countHasty = () => waited.filter((ms) => ms <= 3_000).length;

  beforeAll(async () => {
    owner = await signInPerson(test.app.context, ownerEmail);
    ({ key } = await test.createKey(ownerEmail));
    people = await enrolGroup(test, ownerEmail, "finance", "Carol", "Dave", "Erin");
    groupId = (await listApprovers(test.app.context, owner)).groups[0]?.id ?? "";
  });

  async function request(more: object = {}) {
    const required = { required_approvers: [{ group: "finance", count: 1 }], required_level: "none" };
    return ask(test, key, { agent_slug: "payer", action: "Pay", ...required, ...more });
  }
  /** `read`: the page's word, in the header that it sends. */
  async function decide(decision: PasskeyDecision, read = "?1"): Promise<void> {
    const asked = await request();
    const view = await readApprovalView(test.app.context, asked.token);
    const challenge = approvalChallenge(view?.binding.request_hash ?? "", decision);
    const { public_key: _, ...passkey } = people[0]?.passkey.assert(challenge) ?? { public_key: "" };
    const path = `/approve/${asked.token}/${decision === "approve" ? "passkey" : "deny"}`;
    const answer = await test.call("POST", path, {
      headers: { ...fromPage, "read-to-end": read },
      body: { passkey },
    });
    expect(answer.status).toBe(200);
    const { created_at, decided_at } = (await asked.read(key)).body;
    waited.push(Date.parse(decided_at) - Date.parse(created_at));
  }
  const read = () => readAttention(test.app.context, owner);
  const measure = (isOn: boolean) => measureAttention(test.app.context, owner, { groupId, isOn });
  async function pack(withPrivate = true) {
    const period = {
      from: new Date(Date.now() - 7 * dayMs).toISOString(),
      to: new Date(Date.now() + dayMs).toISOString(),
    };
    const made = await makeEvidencePack(test.app.context, owner, {
      ...{ agentSlugs: ["payer"], period, withPrivate },
    });
    return collect(made.parts);
  }
  const check = async (bytes: Uint8Array) =>
    (await checkPack(toByteSource(bytes), { tools: nodeIo.zip, trust: null, program: null })).checks;

  it("is off, and what was decided before it is on is never measured", async () => {
    await decide("approve");
    expect(await read()).toEqual([]);
    expect(unpack(await pack()).has(packFiles.attention)).toBe(false);
    await measure(true);
    waited.length = 0;
    expect(await read()).toEqual([{ group: groupId, name: "finance", since: expect.any(String), weeks: [] }]);
    const [event] = await test.app.context.database.db
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.action, "approver_group.attention"));
    expect(event).toMatchObject({ subject: "finance", detail: { measured: true } });
  });

  it("counts what people decided, what expired and nothing else, and names nobody", async () => {
    await decide("approve");
    await decide("approve", "?0");
    await decide("deny", "yes");
    await request();
    const cancel = async () => {
      const { request_id: id } = (await request()).made;
      expect((await test.call("DELETE", `/v1/authorize/${id}`, { key })).status).toBe(200);
      return id;
    };
    const [, changed] = [await cancel(), await cancel()];
    const late = await request();
    await test.app.context.database.db.execute(
      sql`UPDATE authorization_requests SET status = 'expired', expires_at = clock_timestamp() WHERE id = ${late.made.request_id}`,
    );
    await test.app.context.database.db.execute(
      sql`UPDATE authorization_requests SET amended_by = 'areq_other' WHERE id = ${changed}`,
    );
    // Nobody is asked while the agent is frozen.
    await test.call("POST", "/v1/identity/payer/freeze", { key, body: { reason: "test" } });
    const body = { agent_slug: "payer", action: "Pay", required_approvers: [{ group: "finance", count: 1 }] };
    expect((await test.call("POST", "/v1/authorize", { key, body })).body.status).toBe("denied");
    await test.call("POST", "/v1/identity/payer/unfreeze", { key, body: {} });
    const [{ weeks } = { weeks: [] }] = await read();
    expect(weeks).toEqual([
      {
        ...{ week: expect.any(String), approved: 2, denied: 1, within_3_s: countHasty() },
        ...{
          median_ms: waited.toSorted((a, b) => a - b)[1],
          p90_ms: Math.max(...waited),
          ...{ amended: 1, expired: 1, read_to_end: 1, not_read_to_end: 1 },
        },
      },
    ]);
    expect(new Date(`${weeks[0]?.week}T00:00:00Z`).getUTCDay()).toBe(1);
    let csv = "";
    for await (const part of await exportAttention(test.app.context, owner)) csv += part;
    expect(csv.split("\r\n")[1]).toMatch(
      new RegExp(
        `^"finance","\\d{4}-\\d\\d-\\d\\d","2","1","1","1","${countHasty()}","${(countHasty() / 3).toFixed(3)}",.*"1","1"$`,
      ),
    );
    const words = `${csv} ${JSON.stringify(await read())}`;
    for (const { id, email, name } of people)
      for (const secret of [id, email, name]) expect(words).not.toContain(secret);
  });

  it("is in the pack as it follows from its decisions, and a changed number is found", async () => {
    const bytes = await pack();
    const files = unpack(bytes);
    const { groups } = parse(files, packFiles.attention) as { groups: GroupAttention[] };
    expect(groups).toEqual(await read());
    expect(await check(bytes)).toContainEqual({
      ...{
        name: "attention",
        status: "pass",
        detail: `finance: 3 decisions, ${countHasty()} within 3 s, 1 of 2 read to the end as the service says`,
      },
    });
    expect(unpack(await pack(false)).has(packFiles.attention)).toBe(false);
    const changes: ((week: Json) => Json | null)[] = [
      (week) => ({ ...week, within_3_s: week.within_3_s - 1 }),
      (week) => ({ ...week, denied: 0 }),
      (week) => ({ ...week, median_ms: week.median_ms + 1 }),
      (week) => ({ ...week, week: "2026-01-05" }),
      (week) => ({ ...week, expired: -1 }),
      () => null,
    ];
    for (const change of changes) {
      const forged = new Map(files);
      const weeks = (groups[0]?.weeks ?? []).flatMap((week) => change(week as unknown as Json) ?? []);
      const json = { version: 1, groups: [{ ...groups[0], weeks }] };
      forged.set(packFiles.attention, encodePackJson(json));
      const found = await check(await forge(forged, true));
      expect(found.find(({ name }) => name === "attention")).toMatchObject({
        status: "fail",
        reason: "attention_mismatch",
      });
    }
  });

  it("isn't shown of a group that has become too small, and can't be turned on for one", async () => {
    const [carol, dave] = people;
    const memberIds = [carol?.id ?? "", dave?.id ?? ""];
    await saveGroup(test.app.context, owner, { id: groupId, name: "finance", memberIds });
    expect(await read()).toEqual([]);
    expect(unpack(await pack()).has(packFiles.attention)).toBe(false);
    await measure(false);
    await expect(measure(true)).rejects.toThrow("a group needs 3 people");
    const { db } = test.app.context.database;
    const [row] = await db.select().from(approvers).where(eq(approvers.id, groupId));
    expect(row?.attention_since).toBeNull();
    expect(await db.select().from(groupReadings)).toEqual([]);
    await decide("approve");
    expect(await db.select().from(groupReadings), "it is off").toEqual([]);
  });
});
