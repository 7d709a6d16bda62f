/** Guarantee: a suggested rule rests on approvals alone, is added as it was suggested, and the log has the hash of its derivation. */
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { PutRulesBody } from "#lib/api/schemas/rules";
import { apiKeys, authorizationRequests, memberships, ruleSets, sessions } from "#lib/db/schema";
import { type Derivation, derivationHash } from "#lib/protocol/policy/suggest";
import { acceptApproval } from "#lib/services/approvals/decision/decide";
import { ask, provenBy } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { listSuggestions, proposeSuggestion } from "./suggestions";
import { listTakeBacks } from "./take-back";
import { confirmProposal, readNewest, readProposal, saveRules } from "./versions";

const dayMs = 86_400_000;

describe("suggested rules", () => {
  const { test } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000",
    LIMIT_AUTHORIZE_PENDING: "1000",
  });
  let owner: MemberPrincipal;
  let key: string;
  let organizationId: string;
  let counter = 0;
  let nonce = 0n;
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(test.app.context, `owner${counter}@example.com`);
    ({ key, organizationId } = await test.createKey(`owner${counter}@example.com`));
    // This instance approves locally, with test keys.
    Object.assign(test.app.context.worldId, { environment: "production" });
    await setPrefix("cs_live_");
  });
  const setPrefix = (prefix: string) =>
    test.app.context.database.db
      .update(apiKeys)
      .set({ prefix: sql`overlay(${apiKeys.prefix} PLACING ${prefix}::text FROM 1)` })
      .where(eq(apiKeys.organization_id, organizationId));

  const request = (more: object = {}) => ({
    ...{ agent_slug: `sender-${counter}`, action: "Send an invoice", tool: "send" },
    context: { customer: "Example Ltd" },
    details: { complete: true },
    ...more,
  });
  /** As if it had been asked for so many days ago, and decided a minute later: a request's time is the database's. */
  async function decide(days: number, outcome: "approved" | "denied", more: object = {}): Promise<string> {
    const { context } = test.app;
    const asked = await ask(test, key, request(more));
    const { request_id: id } = asked.made;
    if (outcome === "approved") {
      nonce += 1n;
      const proof = { ...provenBy(1, nonce), environment: "production" as const };
      await acceptApproval(context, id, { proof, approver: null }, null);
    } else expect((await asked.deny()).status).toBe(200);
    const at = new Date(Date.now() - days * dayMs);
    const time = sql`to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
    const moved = sql`replace(convert_from(request, 'UTF8'), ${time}, ${at.toISOString()})`;
    await context.database.db
      .update(authorizationRequests)
      .set({
        request: sql`convert_to(${moved}, 'UTF8')`,
        created_at: at,
        decided_at: new Date(at.getTime() + 60_000),
      })
      .where(eq(authorizationRequests.id, id));
    return id;
  }
  const decideFive = async (more: object = {}) => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await decide(1 + (i % 2), "approved", more));
    return ids;
  };
  const list = (withMoney = false) => listSuggestions(test.app.context, owner, withMoney);

  it("come from people's approvals, with each request, and what they would have saved", async () => {
    const ids = await decideFive();
    const { suggestions, decisions } = await list();
    expect(decisions).toBe(5);
    expect(suggestions).toHaveLength(1);
    expect(suggestions[0]?.requests.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(suggestions[0]).toMatchObject({ questionsPerWeek: 5, waitedMinutes: 5 });
  });

  it("aren't made of test approvals", async () => {
    await decideFive();
    expect((await list()).suggestions).toHaveLength(1);
    await setPrefix("cs_test_");
    expect((await list()).suggestions).toEqual([]);
  });

  it("are not made of amounts unless the owner wants it, and not past a refusal", async () => {
    for (let i = 0; i < 5; i += 1)
      await decide(1 + (i % 2), "approved", { amount: { value: String(10 + i), currency: "EUR" } });
    expect((await list()).suggestions).toEqual([]);
    expect((await list(true)).suggestions[0]?.bounds.amount).toEqual({ currency: "EUR", max: "14" });
    await decide(3, "denied", { amount: { value: "9", currency: "EUR" } });
    expect((await list(true)).suggestions).toEqual([]);
  });

  it("are added as they are, with a derivation whose hash the log has", async () => {
    await decideFive();
    const { suggestions } = await list();
    const { policyId, text, covers } = suggestions[0] ?? { policyId: "", text: "", covers: [] };
    const forbid = '@id("never")\nforbid (principal, action, resource == Tool::"rm");\n';
    await saveRules(test.app.context, owner, { text: forbid, mode: "enforce" } as PutRulesBody);
    expect(await proposeSuggestion(test.app.context, owner, { policyId, withMoney: false })).toBe(true);
    const newest = await readNewest(test.app.context.database.db, organizationId);
    expect(newest?.text).toBe(`${forbid}\n${text}`);
    const derivation = JSON.parse(newest?.derivation ?? "null") as Derivation;
    expect(derivation).toMatchObject({ policy_id: policyId, requests: covers, approvals: 5, days: 2 });
    const statement = JSON.parse(Buffer.from(newest?.payload ?? []).toString());
    expect(statement.predicate.derivation).toBe(derivationHash(derivation));
    const asked = await test.call("POST", "/v1/authorize", { key, body: request() });
    expect(asked.body).toMatchObject({
      status: "approved",
      decided_by: { kind: "rule", policy_ids: [policyId] },
    });
    expect((await list()).suggestions, "it is a rule now").toEqual([]);
    const old = { created_at: new Date(Date.now() - 31 * dayMs) };
    await test.app.context.database.db
      .update(ruleSets)
      .set(old)
      .where(eq(ruleSets.hash, newest?.hash ?? ""));
    const hints = await listTakeBacks(test.app.context, owner);
    expect(
      hints.map(({ policy_id, why }) => [policy_id, why]),
      "the other one was just used",
    ).toEqual([["never", "unused"]]);
    const missing = proposeSuggestion(test.app.context, owner, { policyId, withMoney: false });
    await expect(missing).rejects.toThrow("no longer suggested");
  });

  it("wait for another owner, who confirms with a passkey, unless a refusal has come since", async () => {
    const { context } = test.app;
    const { db } = context.database;
    const second = { ...(await signInPerson(context, `second${counter}@example.com`)), organizationId };
    await db
      .insert(memberships)
      .values({ organization_id: organizationId, user_id: second.userId, role: "owner" });
    await decideFive();
    const policyId = (await list()).suggestions[0]?.policyId ?? "";
    const propose = () => proposeSuggestion(context, owner, { policyId, withMoney: false });
    expect(await propose()).toBe(false);
    await expect(propose()).rejects.toThrow("a change of the rules waits");
    const { id = "" } = (await readProposal(db, organizationId)) ?? {};
    await expect(confirmProposal(context, second, id)).rejects.toThrow("Confirm with a passkey");
    await confirmPasskey(second);
    const denied = await decide(0, "denied");
    await expect(confirmProposal(context, second, id)).rejects.toThrow("no longer follows");
    await db.delete(authorizationRequests).where(eq(authorizationRequests.id, denied));
    await confirmProposal(context, second, id);
    expect(await readNewest(db, organizationId)).toMatchObject({ confirmed_by: second.email });
    expect((await readNewest(db, organizationId))?.derivation).toContain(policyId);
  });

  /** As after a passkey in the session of this person. */
  async function confirmPasskey({ userId, session }: MemberPrincipal): Promise<void> {
    const now = test.app.context.clock();
    const row = { expires: new Date(now.getTime() + dayMs), confirmedAt: now, confirmedFor: organizationId };
    const sessionToken = session.replace("sess_", "");
    await test.app.context.database.db.insert(sessions).values({ sessionToken, userId, ...row });
  }
});
