/** Guarantee: a suggested rule rests on approvals alone, is added as it was suggested, and the log has the hash of its derivation. */
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { PutRulesBody } from "#lib/api/schemas/rules";
import { queryRows } from "#lib/db/client";
import {
  apiKeys,
  auditEvents,
  authorizationRequests,
  organizations,
  ruleSets,
  sessions,
} from "#lib/db/schema";
import type { HumanAuthorization } from "#lib/protocol/approval/approval";
import { type Derivation, derivationHash } from "#lib/protocol/policy/suggest";
import { acceptApproval } from "#lib/services/approvals/decision/decide";
import { askForStanding, readAgentFile } from "#lib/services/approvals/portal-authorizations";
import { findAuthorization, readApprovalToken } from "#lib/services/approvals/rows";
import { eraseAuthorizations } from "#lib/services/attestations/erase";
import { ask, provenBy } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { readPast } from "./describe-request";
import { isWithinRate, listReviewRates, listUnreviewed, reviewUse, setReviewRates } from "./reviews";
import { listSuggestions, proposeSuggestion, readDecisions } from "./suggestions";
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
  /** Creates one that was asked for that many days ago, and decided a minute later: a request's time is the database's. */
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

  it("are made of all pages, also after one of requests for standing approvals alone", async () => {
    const ids = await decideFive();
    const grant = { tools: ["send"], max_calls: 3, expires_at: new Date(Date.now() + dayMs).toISOString() };
    await ask(test, key, { ...request(), tool: undefined, grant }).then((asked) => asked.deny());
    const window = { from: new Date(0), to: new Date(Date.now() + dayMs) };
    const read: string[] = [];
    for await (const rows of readPast(test.app.context, organizationId, window, 1))
      read.push(...rows.map(({ id }) => id));
    expect(read.sort()).toEqual(ids.sort());
  });

  it("say from when on every decision was read, if there are too many", async () => {
    await decideFive();
    const { context } = test.app;
    const whole = await readDecisions(context, organizationId);
    expect([whole.known.size, whole.to.getTime() - whole.from.getTime()]).toEqual([5, 90 * dayMs]);
    const { from, to, known } = await readDecisions(context, organizationId, 3);
    expect([known.size, (await list()).from < from]).toEqual([3, true]);
    const since: string[] = [];
    for await (const rows of readPast(context, organizationId, { from, to }))
      since.push(...rows.map(({ hash }) => hash));
    expect(since).toEqual([...known.keys()].slice(0, 2));
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
    const second = await joinPerson(context, `second${counter}@example.com`, organizationId, "owner");
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

  it("are asked for as standing approvals, of other people, who sign what they rest on", async () => {
    const { context } = test.app;
    const ids = await decideFive({ amount: { value: "20", currency: "EUR" } });
    const [suggestion] = (await list(true)).suggestions;
    const { policyId = "" } = suggestion ?? {};
    expect(suggestion?.standing).toMatchObject({ max_calls: 5, max_amount: "20", max_budget: "100" });
    const link = await askForStanding(context, owner, { policyId, withMoney: true });
    const id = readApprovalToken(context, link?.split("/").at(-1) ?? "") ?? "";
    expect((await list(true)).suggestions[0]?.standing, "it waits").toBeNull();
    const again = askForStanding(context, owner, { policyId, withMoney: true });
    await expect(again).rejects.toThrow("no longer suggested");
    const proof = { ...provenBy(1, 9_999n), environment: "production" as const };
    const accept = () => acceptApproval(context, id, { proof, approver: null }, null);
    const denied = await decide(0, "denied", { amount: { value: "20", currency: "EUR" } });
    await expect(accept()).rejects.toThrow("no longer follows");
    const { db } = context.database;
    await db.delete(authorizationRequests).where(eq(authorizationRequests.id, denied));
    await accept();
    const row = await findAuthorization(context.database, id);
    const object = JSON.parse(Buffer.from(row?.human_authorization ?? []).toString()) as HumanAuthorization;
    const derivation = JSON.parse(row?.derivation ?? "null") as Derivation;
    expect(object.version).toBe(2);
    expect(object.request.grant?.derived?.derivation).toBe(derivationHash(derivation));
    expect(derivation.requests).toHaveLength(ids.length);
    const events = await context.database.db.select().from(auditEvents).where(eq(auditEvents.subject, id));
    expect(events.find(({ action }) => action === "authorization.requested")).toMatchObject({
      actor: owner.email,
    });
    const use = (more: object) =>
      test.call("POST", "/v1/authorize", {
        key,
        body: request({ amount: { value: "20", currency: "EUR" }, ...more }),
      });
    expect((await use({})).body).toMatchObject({
      status: "approved",
      decided_by: { kind: "grant", use: 1, of: 5 },
    });
    const wider = { context: { customer: "Example Ltd", copy_to: "other@example.com" } };
    expect((await use(wider)).body.status, "a detail that nobody saw").toBe("pending");
    expect((await use({ details: { complete: false } })).body.status).toBe("pending");
    await copyGrant(id, 201);
    const hints = await listTakeBacks(context, owner);
    expect(
      hints.filter(({ why }) => why === "unused"),
      "all, however many",
    ).toHaveLength(201);
    expect(await readAgentFile(context, owner, `sender-${counter}`)).toMatchObject({
      ...{ hasMoreOpen: false, hasMoreStanding: true },
    });
    await db.transaction((tx) => eraseAuthorizations(tx, [id], context.clock()));
    expect(await findAuthorization(context.database, id)).toMatchObject({ context: null, derivation: null });
  });

  it("are taken back as hints if a sampled use should have been asked about", async () => {
    const { context } = test.app;
    const text = '@id("all")\npermit (principal, action == Action::"act", resource);\n';
    await saveRules(context, owner, { text, mode: "enforce" } as PutRulesBody);
    const asked = await test.call("POST", "/v1/authorize", { key, body: request() });
    const { request_id: id } = asked.body;
    expect(asked.body).toMatchObject({ status: "approved" });
    expect(await listUnreviewed(context, owner), "nothing is sampled by default").toEqual([]);
    expect(await listReviewRates(context, owner)).toEqual({ standing: 0, rules: { all: 0 } });
    await setReviewRates(context, owner, { standing: 100, rules: {} });
    expect(await listUnreviewed(context, owner), "of standing approvals alone").toEqual([]);
    await setReviewRates(context, owner, { standing: 0, rules: { all: 100 } });
    expect(await listUnreviewed(context, owner)).toEqual([
      expect.objectContaining({ request_id: id, agent_slug: `sender-${counter}`, policy_ids: ["all"] }),
    ]);
    const stranger = await signInPerson(context, `stranger${counter}@example.com`);
    await expect(reviewUse(context, stranger, id, "fine")).rejects.toThrow("isn't in the sample");
    await reviewUse(context, owner, id, "should_ask");
    expect(await listUnreviewed(context, owner)).toEqual([]);
    await expect(reviewUse(context, owner, id, "fine")).rejects.toThrow("somebody has reviewed it");
    const events = await context.database.db.select().from(auditEvents).where(eq(auditEvents.subject, id));
    expect(events.map(({ action, detail }) => [action, detail])).toContainEqual([
      "reviews.reviewed",
      expect.objectContaining({ verdict: "should_ask" }),
    ]);
    // Counts as a refusal: what was approved five times beside it isn't suggested. Here a rule's approval is a TEST.
    const live = sql`replace(convert_from(human_authorization, 'UTF8'), '"environment":"local"', '"environment":"production"')`;
    await context.database.db
      .update(authorizationRequests)
      .set({ human_authorization: sql`convert_to(${live}, 'UTF8')` })
      .where(eq(authorizationRequests.id, id));
    await saveRules(context, owner, { text: "", mode: "off" } as PutRulesBody);
    await decideFive();
    expect((await list()).suggestions).toEqual([]);
  });

  it("are sampled at about the rate, by what no agent knows", async () => {
    const { db } = test.app.context.database;
    const salts = [btoa("one"), btoa("another")] as const;
    const hashes = sql`SELECT sha256(convert_to(n::text, 'UTF8')) AS request_hash FROM generate_series(1, 20000) AS n`;
    const within = (percent: number, salt: string) => isWithinRate(sql`${percent}::float8`, salt);
    const below = (percent: number, isOther = sql`true`) =>
      queryRows<{ count: number }>(
        db,
        sql`SELECT count(*)::int AS count FROM (${hashes}) AS r WHERE ${within(percent, salts[0])} AND ${isOther}`,
      );
    const [{ count: both = -1 } = {}] = await below(25, within(25, salts[1]));
    expect([both > 1000, both < 1500], `by two salts: ${both}`).toEqual([true, true]);
    for (let i = 0; i < 2; i += 1) await setReviewRates(test.app.context, owner, { standing: 5, rules: {} });
    const [stored] = await db
      .select({ rates: organizations.review_rates })
      .from(organizations)
      .where(eq(organizations.id, organizationId));
    expect(JSON.parse(stored?.rates ?? "")).toMatchObject({
      standing: 5,
      salt: expect.stringMatching(/^.{22}==$/),
    });
    expect(Object.keys(await listReviewRates(test.app.context, owner))).toEqual(["standing", "rules"]);
    for (const [percent, least, most] of [
      [0, 0, 0],
      [5, 850, 1150],
      [25, 4700, 5300],
      [100, 20000, 20000],
    ] as const) {
      const [{ count = -1 } = {}] = await below(percent);
      expect([count >= least, count <= most], `${percent} %: ${count}`).toEqual([true, true]);
    }
  });

  /** Standing approvals like this one, given 40 days ago and never used. */
  async function copyGrant(id: string, copies: number): Promise<void> {
    const copy = async (table: string, name: string, changes: string) =>
      test.query(
        `INSERT INTO ${table} SELECT (jsonb_populate_record(one, jsonb_build_object('${name}', 'copy-' || n || ${name}) || ${changes})).*
         FROM ${table} AS one, generate_series(1, $2) AS n WHERE ${name} = $1`,
        [id, copies],
      );
    await copy(
      "authorization_requests",
      "id",
      "jsonb_build_object('leaf_index', NULL, 'request_hash', sha256(convert_to(n || id, 'UTF8'))::text)",
    );
    await copy("grants", "request_id", "jsonb_build_object('approved_at', now() - interval '40 days')");
  }

  /** Confirms by passkey in the session of this person. */
  async function confirmPasskey({ userId, session }: MemberPrincipal): Promise<void> {
    const now = test.app.context.clock();
    const row = { expires: new Date(now.getTime() + dayMs), confirmedAt: now, confirmedFor: organizationId };
    const sessionToken = session.replace("sess_", "");
    await test.app.context.database.db.insert(sessions).values({ sessionToken, userId, ...row });
  }
});
