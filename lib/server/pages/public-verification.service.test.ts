/** Facts on a receipt beside the signed bytes: the organization, and what is usual for the agent. */
import { generateKeyPairSync, sign } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { beforeAll, expect, it, vi } from "vitest";
import { attestations, organizationDomains, organizations } from "#lib/db/schema";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { neighboursSql } from "#lib/services/attestations/record";
import { setupTestApp } from "#support/setup-app";
import { verifyForPage } from "./public-pages";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const registered = {
  slug: "payer",
  public_key: publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64"),
};
const { test } = setupTestApp();
let key: string;
let organizationId: string;

async function attest(action: string, fields: object = {}, isSigned = false): Promise<string> {
  const body = { agent_slug: "payer", action, inputs_hash: "x", ...fields };
  const signature = sign(null, canonicalBytes(signedRequest(body)), privateKey).toString("base64");
  const made = await test.call("POST", "/v1/attest", {
    key,
    body: { ...body, ...(isSigned && { agent_signature: signature }) },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.attestation_id;
}

/** Marks it as proven by World ID: the column is what is counted, and a real proof would take a second. */
async function markApproved(id: string): Promise<void> {
  const { db } = test.app.context.database;
  await db
    .update(attestations)
    .set({ human_approval_method: "proof_of_personhood" })
    .where(eq(attestations.id, id));
}

const surroundingsOf = async (id: string) =>
  (await verifyForPage(test.app.context, id, "192.0.2.1")).surroundings;

beforeAll(async () => {
  ({ key, organizationId } = await test.createKey("ada.lovelace@example.com"));
  expect((await test.call("POST", "/v1/identity/register", { key, body: registered })).status).toBe(201);
});

it("names an organization by what an owner chose and by proven domains, never by a mail address", async () => {
  const { db } = test.app.context.database;
  const id = await attest("Read a file");
  expect((await surroundingsOf(id))?.organization).toEqual({ name: null, domains: [] });
  await db.update(organizations).set({ name: "Example GmbH" }).where(eq(organizations.id, organizationId));
  const row = { organization_id: organizationId, token: "t", created_at: new Date() };
  const proven = { verified_since: new Date("2026-11-01"), found_at: new Date("2026-11-20") };
  await db.insert(organizationDomains).values([
    { ...row, ...proven, found_in: "dns", id: "01990000-0000-7000-8000-000000000001", domain: "example.com" },
    { ...row, id: "01990000-0000-7000-8000-000000000002", domain: "unproven.example" },
  ]);
  expect((await surroundingsOf(id))?.organization).toEqual({
    name: "Example GmbH",
    domains: [{ domain: "example.com", unicode: "example.com", last_checked: "2026-11-20T00:00:00.000Z" }],
  });
});

it("measures what is usual by the agent's public reports, before and after", async () => {
  for (let i = 0; i < 4; i += 1) await markApproved(await attest(`Paid invoice ${i}`));
  await markApproved(await attest("Paid privately", { is_public: false }));
  const signed = await attest("Sent a mail", {}, true);
  const bare = await attest("Paid invoice 9");
  const { timestamp } = (await test.call("GET", `/v1/verify/${signed}`)).body;
  expect((await surroundingsOf(bare))?.habits).toEqual({
    approvals: { word: "Paid", approved: 4, of: 4 },
    signatures: { until: timestamp, isResumed: false },
  });
  await attest("Sent another", {}, true);
  expect((await surroundingsOf(bare))?.habits.signatures?.isResumed).toBe(true);
});

it("says nothing of private or erased records", async () => {
  const hidden = await attest("Fired somebody", { is_public: false });
  expect(await surroundingsOf(hidden)).toBeNull();
  const erased = await attest("Mentioned somebody");
  expect((await test.call("DELETE", `/v1/attestations/${erased}/content`, { key })).status).toBe(200);
  expect(await surroundingsOf(erased)).toBeNull();
});

it("remembers what a page is made from for just the bytes that it was made from, and until they are erased", async () => {
  const { context } = test.app;
  const id = await attest("Remembered somebody");
  const look = async () => (await verifyForPage(context, id, "192.0.2.1")).answer;
  const flip = () =>
    context.database.db
      .update(attestations)
      .set({
        signature: sql`set_byte(signature, 9, get_byte(signature, 9) # 1)`,
      })
      .where(eq(attestations.id, id));
  const first = await look();
  expect(first.valid).toBe(true);
  expect(context.answers.get("page", id)).toBeDefined();
  const made = vi.spyOn(context.answers, "keep");
  expect(await look()).toEqual(first);
  expect(made).not.toHaveBeenCalled();
  made.mockRestore();
  await flip();
  expect((await look()).valid).toBe(false);
  await flip();
  expect((await look()).valid).toBe(true);
  expect((await test.call("DELETE", `/v1/attestations/${id}/content`, { key })).status).toBe(200);
  await expect.poll(() => context.answers.get("page", id)).toBeUndefined();
  expect(await look()).toMatchObject({ status: "erased", action: null });
});

it("reads what is around a report from an index, however many the agent has", async () => {
  const plan = await test.app.context.database.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL enable_seqscan = off`);
    await tx.execute(sql`SET LOCAL enable_bitmapscan = off`);
    return tx.execute(
      sql.raw(`EXPLAIN ${neighboursSql.replace("$1", "'01990000-0000-7000-8000-000000000001'")}`),
    );
  });
  const lines = JSON.stringify(plan);
  expect(lines.match(/attestations_feed/g)).toHaveLength(2);
  expect(lines).not.toContain("Sort");
});
