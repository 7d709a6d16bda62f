/**
 * Guarantee: approvers can't tell a planted request from others before they decide, nothing ever runs from one, nothing
 * but its own tables has it, and what the pack has about them follows from what was committed to before.
 */
import { eq, ne, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import {
  apiKeys,
  approvers,
  auditEvents,
  groupReadings,
  looks,
  mailboxMessages,
  notices,
  plantedRequests,
  plantedStatements,
  webhookDeliveries,
  webhookEndpoints,
  webhookMessages,
} from "#lib/db/schema";
import { AppError } from "#lib/errors";
import {
  type Mistake,
  type PackedPlanted,
  type PlantedEntry,
  type PlantedOpening,
  type PlantedOutcome,
  type PlantedSchedule,
  parsePlantedStatement,
  plantedHash,
  plantedOrganization,
} from "#lib/protocol/approval/planted";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { toByteSource } from "#lib/protocol/encoding/zip";
import { encodePackJson, type PackPeriod, packFiles } from "#lib/protocol/pack/pack-manifest";
import { approvalChallenge, buildList, type PasskeyDecision } from "#lib/protocol/passkey/assertion";
import { armPlanted, measureAttention, saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers } from "#lib/services/accounts/approvers";
import { eraseAuthorizations } from "#lib/services/attestations/erase";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { composeChat } from "#lib/services/webhooks/chat";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { checkPack } from "#lib/verifier/pack/check-pack";
import { sendAll } from "#support/approvers";
import { ask, fromPage } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolGroup, mailsTo } from "#support/enrol";
import { collect, forge, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { noteLook } from "./attention";
import { countWaiting, listInbox, readApprovalView, readDecidable } from "./decision/inbox";
import { logPlanted } from "./decision/planted";
import { readPlanted, runPlantedRound } from "./planted";
import { approvalUrl } from "./rows";

const ownerEmail = "owner@example.com";
const dayMs = 86_400_000;

describe("planted requests", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });
  let owner: MemberPrincipal;
  let key: string;
  let people: Awaited<ReturnType<typeof enrolGroup>>;
  let groupId: string;

  const real = {
    ...{ agent_slug: "payer", action: "Pay 120.50 EUR to Example Ltd", tool: "pay" },
    ...{ amount: { value: "120.5", currency: "EUR" }, context: { payee: "Example Ltd", invoice: "4711" } },
    required_approvers: [{ group: "finance", count: 1 }],
    required_level: "none",
  };
  const db = () => test.app.context.database.db;
  const request = (more: object = {}) => ask(test, key, { ...real, ...more });
  const user = () => ({
    ...{ kind: "user" as const, userId: "00000000-0000-4000-8000-000000000000", ip: null, session: "" },
    email: people[0]?.email ?? "",
  });

  async function decideHere(
    path: string,
    token: string,
    decision: PasskeyDecision,
    who = 0,
    more = {},
    said = {},
  ) {
    const view = await readApprovalView(test.app.context, token);
    const challenge = approvalChallenge(view?.binding.request_hash ?? "", decision);
    const { public_key: _, ...passkey } = people[who]?.passkey.assert(challenge, said) ?? { public_key: "" };
    const headers = { ...fromPage, "read-to-end": "?1" };
    return test.call("POST", `/approve/${token}/${path}`, { headers, body: { passkey, ...more } });
  }
  const approve = (token: string, who?: number) => decideHere("passkey", token, "approve", who);
  const deny = (token: string, who?: number) => decideHere("deny", token, "deny", who);

  const readAll = () => db().select().from(plantedRequests);
  const readStatements = () => db().select().from(plantedStatements);
  const find = async (id: string) => (await readAll()).find((one) => one.id === id);
  const round = () => runPlantedRound(test.app.context);
  const tokenOf = (id: string) => approvalUrl(test.app.context, id).split("/").at(-1) ?? "";
  /** The next planned one, at once, with that mistake. */
  async function show(fact: "payee" | "amount" | "agent") {
    const [next] = (await readAll()).filter(({ status }) => status === "planned");
    await db()
      .update(plantedRequests)
      .set({ at: sql`clock_timestamp()`, fact })
      .where(eq(plantedRequests.id, next?.id ?? ""));
    await round();
    const shown = await find(next?.id ?? "");
    expect(shown?.status).toBe("pending");
    return { id: next?.id ?? "", token: tokenOf(next?.id ?? ""), row: shown };
  }

  beforeAll(async () => {
    owner = await signInPerson(test.app.context, ownerEmail);
    ({ key } = await test.createKey(ownerEmail));
    people = await enrolGroup(test, ownerEmail, "finance", "Carol", "Dave", "Erin");
    groupId = (await listApprovers(test.app.context, owner)).groups[0]?.id ?? "";
  });

  it("is off, and commits to nothing before there are real requests to be like", async () => {
    await round();
    await armPlanted(test.app.context, owner, { groupId, perMonth: 20 });
    await round();
    expect(await readAll()).toEqual([]);
    const [event] = await db()
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.action, "approver_group.planted"));
    expect(event).toMatchObject({ subject: "finance", detail: { per_month: 20 } });
    for (let i = 0; i < 5; i += 1) expect((await approve((await request()).token)).status).toBe(200);
    await round();
    await round();
    expect((await readAll()).map(({ status }) => status)).toEqual(Array(20).fill("planned"));
    const [schedule, ...others] = await readStatements();
    expect(others).toEqual([]);
    const words = `${utf8Decode(schedule?.document ?? new Uint8Array())} ${utf8Decode(schedule?.payload ?? new Uint8Array())}`;
    for (const { id, salt } of await readAll()) {
      expect(words).not.toContain(id);
      expect(words).not.toContain(salt);
    }
    const statement = parsePlantedStatement(schedule?.payload ?? new Uint8Array());
    expect(statement?.organization).toBe(plantedOrganization(owner.organizationId));
    const { body } = await test.call("GET", "/v1/log/statements");
    expect(body.statements.map(({ kind }: { kind: string }) => kind)).toContain("planted_requests");
  });

  it.each(["payee", "amount", "agent"] as const)("looks like any other: %s", async (fact) => {
    const { id, token, row } = await show(fact);
    const { right, wrong } = JSON.parse(row?.mistake ?? "{}") as Mistake;
    const other = await request();
    const same: [string, string][] = [
      [token, "TOKEN"],
      [other.token, "TOKEN"],
      [id, "ID"],
      [other.made.request_id, "ID"],
      [wrong, right],
      ['"1205"', '"120.5"'],
      ["1,205.00", "120.50"],
      ["1205.00", "120.50"],
    ];
    const forget = (text: string) => same.reduce((all, [from, to]) => all.replaceAll(from, to), text);
    /** Everything that two real requests differ in as well. */
    const equalize = (value: unknown): unknown =>
      JSON.parse(forget(JSON.stringify(value)), (name, one) => {
        const differs =
          /_hash$|salt$|_at$|^now$|^binding$|^confirmation_code$|^context_hash$|^known_since$|^at$/;
        const ofUnknown = fact === "agent" && ["name", "agent_name", "agent_past"].includes(name);
        const counts = ["requests", "attestations"].includes(name);
        return (differs.test(name) && one !== null) || ofUnknown || counts ? typeof one : one;
      });
    const [planted, known] = await Promise.all(
      [token, other.token].map((one) => readApprovalView(test.app.context, one)),
    );
    expect(equalize(planted)).toEqual(equalize(known));
    const read = async (requestId: string, withKey?: string) =>
      equalize(await test.call("GET", `/v1/authorize/${requestId}`, withKey ? { key: withKey } : {}));
    const headless = (answer: unknown) => ({
      ...(answer as { status: number; body: object }),
      headers: null,
    });
    expect(headless(await read(id))).toEqual(headless(await read(other.made.request_id)));
    expect(headless(await read(id, key))).toEqual(headless(await read(other.made.request_id, key)));
    const inbox = await listInbox(test.app.context, user(), { isWaiting: true, limit: 50 });
    const rowOf = (requestId: string) => inbox.rows.find(({ request_id }) => request_id === requestId);
    expect(equalize(rowOf(id))).toEqual(equalize(rowOf(other.made.request_id)));
    expect(await countWaiting(test.app.context, user())).toBe(inbox.rows.length);
    const decidable = await readDecidable(test.app.context, user(), inbox.rows);
    const shown = decidable.flat().map(({ view }) => view.request_id);
    expect(shown).toContain(id);
    for (const path of ["world-id", "proof", "revoke", "amend", "look"]) {
      const body = path === "amend" ? { changes: { amount: "1" } } : {};
      const [one, two] = await Promise.all(
        [token, other.token].map((to) =>
          test.call("POST", `/approve/${to}/${path}`, { headers: fromPage, body }),
        ),
      );
      const { request_id: _one, ...said } = one?.body ?? {};
      const { request_id: _two, ...saidToo } = two?.body ?? {};
      expect([one?.status, forget(JSON.stringify(said))]).toEqual([
        two?.status,
        forget(JSON.stringify(saidToo)),
      ]);
    }
    for (const to of [token, other.token])
      expect((await decideHere("ask", to, "ask", 0, { question: "Why?" })).body).toEqual({});
    const [asked, askedToo] = await Promise.all(
      [token, other.token].map((one) => readApprovalView(test.app.context, one)),
    );
    expect(equalize(asked)).toEqual(equalize(askedToo));
    expect((await deny(token)).body).toEqual({});
    expect((await approve(other.token)).body).toEqual({});
  });

  it("sends the same mail and the same message to a chat, and no program hears of it", async () => {
    const endpoint = (format: "standard" | "slack") => ({
      ...{
        id: crypto.randomUUID(),
        organization_id: owner.organizationId,
        url: "https://chat.example/x",
        format,
      },
      events: ["authorization.requested", "authorization.cancelled"],
    });
    const [program, chat] = [endpoint("standard"), endpoint("slack")];
    await db().insert(webhookEndpoints).values([program, chat]);
    const send = async (id: string, token: string) => {
      await sendAll(test);
      const mails = await mailsTo(test, people[0]?.email ?? "");
      const messages = await db().select().from(webhookMessages).where(eq(webhookMessages.subject, id));
      const deliveries = await db().select().from(webhookDeliveries);
      const to = deliveries.filter(({ message_id }) => messages.some((one) => one.id === message_id));
      const body = messages[0]?.body ?? "";
      const format = { organizationId: owner.organizationId, body, showsFacts: true };
      return {
        mail: mails.find(({ text }) => text.includes(token)),
        chat: await composeChat(test.app.context, "slack", format),
        types: messages.map(({ type }) => type),
        endpoints: to.map(({ endpoint_id }) => (endpoint_id === chat.id ? "chat" : "program")).sort(),
      };
    };
    // Earlier notices would be bundled with it.
    await db().delete(notices);
    const { id, token, row } = await show("payee");
    const planted = await send(id, token);
    await db().delete(notices);
    const other = await request();
    const known = await send(other.made.request_id, other.token);
    const { right, wrong } = JSON.parse(row?.mistake ?? "{}") as Mistake;
    const plain = (text = "") =>
      text
        .replaceAll(wrong, right)
        .replaceAll(/areq_[\w-]+(?:\.[\w-]+)?/g, "ID")
        .replaceAll(/\(#[\w-]{6}\)/g, "(#ID)")
        .replaceAll(/, at \d[^.]*\./g, ".");
    expect(planted.mail?.text).toContain(wrong);
    for (const part of ["text", "subject"] as const)
      expect(plain(planted.mail?.[part])).toBe(plain(known.mail?.[part]));
    expect(plain(planted.chat ?? "")).toBe(plain(known.chat ?? ""));
    expect(planted.types).toEqual(["authorization.requested"]);
    expect([planted.endpoints, known.endpoints]).toEqual([["chat"], ["chat", "program"]]);
    await deny(token);
    expect((await send(id, token)).types).toEqual(["authorization.requested"]);
    await db().delete(webhookEndpoints);
    await db().delete(webhookMessages);
  });

  it("shows at once what was wrong if it is approved, and nothing runs from it", async () => {
    const { id, token } = await show("amount");
    for (const [method, path, body] of [
      ["POST", `/v1/authorize/${id}/claim`, { run: "run-1" }],
      ["POST", `/v1/authorizations/${id}/revoke`, {}],
      ["POST", `/v1/authorize/${id}/answer`, { number: 1, answer: "No" }],
      ["DELETE", `/v1/authorize/${id}`, undefined],
    ] as const) {
      const answer = await test.call(method, path, { key, ...(body && { body }) });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    await noteLook(test.app.context, id, user());
    const copied = await decideHere("passkey", token, "approve", 0, {}, { signCount: 1 });
    expect(copied.body.detail, "a passkey that may be a copy").toContain("may be a copy");
    expect((await find(id))?.status).toBe("pending");
    await measureAttention(test.app.context, owner, { groupId, isOn: true });
    expect((await approve(token, 1)).body).toEqual({});
    expect(await db().select().from(groupReadings), "that it was read").toEqual([]);
    await measureAttention(test.app.context, owner, { groupId, isOn: false });
    const view = await readApprovalView(test.app.context, token);
    expect(await db().select().from(looks).where(eq(looks.request_id, id)), "who looked").toEqual([]);
    expect(view).toMatchObject({
      status: "cancelled",
      planted: {
        outcome: "approved",
        mistake: "The amount was 1,205.00 EUR: the real request had 120.50 EUR.",
      },
      proofs: [],
      decided_by: null,
    });
    expect((await approve(token)).body.code).toBe("authorization_not_pending");
    const { body } = await test.call("GET", `/v1/authorize/${id}`, { key });
    expect(body).toMatchObject({ status: "cancelled" });
    expect(body).not.toHaveProperty("human_authorization");
    const claim = await test.call("POST", `/v1/authorize/${id}/claim`, { key, body: { run: "run-1" } });
    expect(claim.status).toBe(404);
    const attested = await test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: "payer", action: real.action, authorization_id: id },
    });
    expect(attested.status).toBeGreaterThanOrEqual(400);
  });

  it("differs from the others of a list in the answer alone", async () => {
    const { id, token } = await show("payee");
    const other = await request();
    const tokens = [token, other.token];
    const views = await Promise.all(tokens.map((one) => readApprovalView(test.app.context, one)));
    const { challenge } = buildList(views.map((view) => view?.binding.request_hash ?? ""));
    const { public_key: _, ...passkey } = people[2]?.passkey.assert(challenge) ?? { public_key: "" };
    const answer = await test.call("POST", "/approve/list", { headers: fromPage, body: { tokens, passkey } });
    expect(answer.body.results).toEqual([
      {
        request_id: id,
        outcome: "planted",
        detail: expect.stringMatching(/^this was a planted request\. The payee was/),
      },
      { request_id: other.made.request_id, outcome: "counted", detail: "" },
    ]);
  });

  it("is in no list, count, limit, record, search, export, statistic or audit log", async () => {
    const { id } = await show("payee");
    const ids = (await readAll()).map((one) => one.id);
    const tables = (
      (await db().execute(
        sql`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
      )) as unknown as { table_name: string }[]
    ).map(({ table_name }) => table_name);
    const having: string[] = [];
    for (const table of tables) {
      const rows = (await db().execute(
        sql`SELECT count(*)::int AS count FROM ${sql.identifier(table)} AS r WHERE ${sql.join(
          ids.map((one) => sql`position(${one} in r::text) > 0`),
          sql` OR `,
        )}`,
      )) as unknown as { count: number }[];
      if ((rows[0]?.count ?? 0) > 0) having.push(table);
    }
    // Rows of its own, the people asked, and what was sent to them.
    const own = ["planted_requests", "request_approvers", "notices", "mailbox_messages"];
    expect(having.filter((one) => !own.includes(one))).toEqual([]);
    expect(having).toContain("planted_requests");
    for (const path of [
      "/v1/authorizations?limit=100",
      "/v1/agent/payer/record",
      "/v1/audit?limit=100",
      "/v1/webhooks",
    ]) {
      const answer = await test.call("GET", path, { key });
      for (const one of ids) expect(JSON.stringify(answer.body)).not.toContain(one);
    }
    await deny(tokenOf(id));
  });

  it("withdraws what can't be shown, and opens what nobody decided as expired", async () => {
    const { id } = await show("agent");
    await db()
      .update(plantedRequests)
      .set({ expires_at: sql`clock_timestamp()` })
      .where(eq(plantedRequests.id, id));
    expect((await approve(tokenOf(id))).body.code).toBe("authorization_not_pending");
    await round();
    expect(await find(id)).toMatchObject({ status: "expired", outcome: "expired" });
    await armPlanted(test.app.context, owner, { groupId, perMonth: null });
    const [next] = (await readAll()).filter(({ status }) => status === "planned");
    await db()
      .update(plantedRequests)
      .set({ at: sql`clock_timestamp()` })
      .where(eq(plantedRequests.id, next?.id ?? ""));
    await round();
    expect(await find(next?.id ?? "")).toMatchObject({ status: "cancelled", outcome: "withdrawn" });
    expect(await readApprovalView(test.app.context, tokenOf(next?.id ?? ""))).toBeNull();
    await armPlanted(test.app.context, owner, { groupId, perMonth: 20 });
  });

  it("is made when its time comes, not when a round begins, and of no key that can't ask any more", async () => {
    const [next, other] = (await readAll()).filter(({ status }) => status === "planned");
    const plan = async (id = "", at = sql`clock_timestamp() + interval '1200 ms'`) =>
      db().update(plantedRequests).set({ at }).where(eq(plantedRequests.id, id));
    await plan(next?.id);
    await runPlantedRound(test.app.context, () => true);
    expect((await find(next?.id ?? ""))?.status).toBe("planned");
    await round();
    const shown = await find(next?.id ?? "");
    expect(shown?.status).toBe("pending");
    expect(shown?.created_at?.getTime()).toBeGreaterThanOrEqual((shown?.at.getTime() ?? 0) - 20);
    await deny(tokenOf(next?.id ?? ""));
    await db().update(apiKeys).set({ revoked_at: sql`clock_timestamp()` });
    await plan(other?.id, sql`clock_timestamp()`);
    await round();
    expect(await find(other?.id ?? "")).toMatchObject({ outcome: "withdrawn", created_at: null });
    await db().update(apiKeys).set({ revoked_at: null });
  });

  it("is made of no request for a code or a standing approval, and not where rules want World ID or the agent is one", async () => {
    const plan = async (fact: "payee" | "agent", isBusy = false) => {
      const [next] = (await readAll()).filter(({ status }) => status === "planned");
      const at = sql`clock_timestamp()`;
      await db()
        .update(plantedRequests)
        .set({ at, fact })
        .where(eq(plantedRequests.id, next?.id ?? ""));
      if (isBusy) {
        const unavailable = new AppError("service_unavailable", "the rules are busy");
        const busy = vi.spyOn(test.app.context.rules, "evaluate").mockRejectedValue(unavailable);
        await round();
        busy.mockRestore();
        expect(await find(next?.id ?? ""), "the next round tries again").toMatchObject({ status: "planned" });
      }
      await round();
      return (await find(next?.id ?? ""))?.outcome;
    };
    for (const agent_slug of ["pyaer", "paeyr", "payre"]) await request({ agent_slug });
    expect(await plan("agent")).toBe("withdrawn");
    const text = '@id("w") @level("device") permit (principal, action == Action::"act_approved", resource);';
    const save = (mode: string) => test.call("PUT", "/v1/rules", { key, body: { text, mode } });
    expect((await save("enforce")).status).toBe(200);
    expect(await plan("payee", true)).toBe("withdrawn");
    await save("off");
    await db().execute(sql`UPDATE authorization_requests SET created_at = created_at - interval '100 days'`);
    const coded = await request({ require_code: true });
    const { confirmation_code: code } = (await coded.read(key)).body;
    expect((await decideHere("passkey", coded.token, "approve", 0, { code })).status).toBe(200);
    const grant = { tools: ["pay"], max_calls: 1, expires_at: new Date(Date.now() + dayMs).toISOString() };
    const standing = await request({ grant, tool: undefined, amount: undefined });
    expect((await approve(standing.token)).status).toBe(200);
    expect(await plan("payee")).toBe("withdrawn");
    expect(
      await test.call("POST", `/v1/authorizations/${standing.made.request_id}/revoke`, { key, body: {} }),
    ).toMatchObject({ status: 200 });
    await db().execute(sql`UPDATE authorization_requests SET created_at = created_at + interval '100 days'`);
  });

  it("is caught by a change of what is wrong, not of anything else, and ends once", async () => {
    await db().execute(sql`UPDATE authorization_requests SET created_at = created_at - interval '100 days'`);
    await approve((await request({ amendable: ["amount", "context.invoice"] })).token);
    const change = async (fact: "payee" | "amount", changes: Record<string, string>) => {
      const { id, token } = await show(fact);
      const answer = await decideHere("amend", token, "amend", 0, { changes });
      expect(answer.body).toEqual({ request_id: id, approval_url: approvalUrl(test.app.context, id) });
      return (await find(id))?.outcome;
    };
    expect(await change("amount", { amount: "120.5" })).toBe("corrected");
    expect(await change("payee", { amount: "120" })).toBe("changed");
    const { id, token } = await show("payee");
    const answers = await Promise.all([approve(token, 0), deny(token, 1), approve(token, 2), deny(token, 2)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect((await readStatements()).filter(({ document }) => utf8Decode(document).includes(id))).toHaveLength(
      1,
    );
    await db().execute(sql`UPDATE authorization_requests SET created_at = created_at + interval '100 days'`);
  });

  it("goes with the content of the request that it was made from", async () => {
    const { id, token, row } = await show("payee");
    const isMailed = async () => {
      await sendAll(test);
      const mails = await db().select().from(mailboxMessages);
      return mails.some(({ text }) => text.includes(token));
    };
    await db().delete(notices).where(ne(notices.request_id, id));
    expect(await isMailed()).toBe(true);
    await db().transaction((tx) => eraseAuthorizations(tx, [row?.template_id ?? ""], new Date()));
    expect(await find(id)).toMatchObject({ context: null, request: null, mistake: null });
    expect(await readApprovalView(test.app.context, token)).toBeNull();
    expect(await isMailed()).toBe(false);
    await round();
    expect(await find(id)).toMatchObject({ status: "cancelled", outcome: "withdrawn" });
  });

  it("is counted in the pack as the log has it, and a pack that says otherwise is refused", async () => {
    const counted = await readPlanted(test.app.context, owner);
    expect(counted).toMatchObject([{ group: groupId, perMonth: 20 }]);
    const { caught, approved, ...others } = counted[0]?.counts ?? { caught: 0, approved: 0 };
    // Each race has one winner, whichever it is.
    expect(caught + approved).toBe(10);
    expect(others).toEqual({ ended: 18, changed: 1, expired: 1, withdrawn: 6 });
    const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
    const [from, until] = [daysAgo(40), daysAgo(10)];
    const entries = Array.from({ length: 5 }, (_, i): PlantedEntry => {
      const salt = base64Encode(new Uint8Array(16).fill(i));
      return { request_id: `areq_${String(i).padStart(22, "A")}`, at: daysAgo(30 - i), fact: "payee", salt };
    });
    const schedule: PlantedSchedule = {
      ...{ version: 1, organization: owner.organizationId, group: groupId, from, until },
      entries: entries.map(plantedHash).sort(),
    };
    const open = (i: number, outcome: PlantedOutcome): PlantedOpening => ({
      ...{ version: 1, schedule: plantedHash(schedule), entry: entries[i] as PlantedEntry, outcome },
      ...{ request_hash: String(i).repeat(64), ended_at: daysAgo(20) },
    });
    const log = (document: PlantedSchedule | PlantedOpening, at: string) =>
      logPlanted(
        test.app.context,
        { document, organizationId: owner.organizationId, groupId, until, at },
        async () => null,
      );
    await log(schedule, from);
    // Another organization, whose people catch everything.
    const foreign = { ...schedule, organization: groupId };
    const foreignOpening = { ...open(0, "denied"), schedule: plantedHash(foreign) };
    for (const [document, at] of [
      [foreign, from],
      [foreignOpening, daysAgo(20)],
    ] as const)
      await logPlanted(
        test.app.context,
        { document, organizationId: groupId, groupId, until, at },
        async () => null,
      );
    await log(open(0, "denied"), daysAgo(20));
    await log(open(1, "approved"), daysAgo(20));
    // After the schedule's end nobody can know that it was so.
    await log(open(2, "denied"), daysAgo(1));
    const period = { from: daysAgo(50), to: daysAgo(-1) };
    const makePack = async (withPrivate: boolean, slug = "payer", context = test.app.context) => {
      const made = await makeEvidencePack(context, owner, {
        ...{ agentSlugs: [slug], period, withPrivate },
      });
      return unpack(await collect(made.parts));
    };
    let files = await makePack(true);
    const check = async (change?: (json: PackedPlanted) => void) => {
      const changed = new Map(files);
      const json = parse(files, packFiles.planted) as unknown as PackedPlanted;
      change?.(json);
      if (change !== undefined) changed.set(packFiles.planted, encodePackJson(json));
      const report = await checkPack(toByteSource(await forge(changed, true)), {
        ...{ tools: nodeIo.zip, trust: null, program: null },
      });
      return report.checks.find(({ name }) => name === "planted requests");
    };
    expect(await check()).toEqual({
      ...{ name: "planted requests", status: "pass", detail: "finance caught 1 of 5 planted requests" },
      warnings: ["3 planted requests of finance were not opened in time, and count as missed"],
    });
    expect((await makePack(false)).has(packFiles.planted)).toBe(false);
    const changeFirst =
      (change: (one: PackedPlanted["schedules"][number]) => void) => (json: PackedPlanted) =>
        json.schedules.slice(0, 1).forEach(change);
    const lies: [string, (json: PackedPlanted) => void][] = [
      ["the miss is left out", changeFirst((one) => one.openings.splice(1, 1))],
      [
        "a miss was caught",
        changeFirst((one) => Object.assign(one.openings[1] ?? {}, { outcome: "denied" })),
      ],
      ["fewer were planted", changeFirst((one) => one.schedule.entries.pop())],
      ["a schedule is left out", (json) => json.schedules.splice(0, 1)],
      ["it is counted twice", (json) => json.schedules.push(...json.schedules)],
      ["one is opened twice", changeFirst((one) => one.openings.push(...one.openings))],
      [
        "they are another organization's",
        (json) =>
          Object.assign(json, {
            organization: groupId,
            schedules: [{ name: "finance", schedule: foreign, openings: [foreignOpening] }],
          }),
      ],
      ["it is said to be another organization's", (json) => Object.assign(json, { organization: groupId })],
    ];
    for (const [lie, change] of lies)
      expect([lie, await check(change)]).toMatchObject([lie, { status: "fail", reason: "planted_mismatch" }]);
    // Openings that are logged just before and just after the pack's statements are read.
    const { database } = test.app.context;
    const statement: typeof database.statement = (text, use) => {
      const read = database.statement<never>(text, use);
      if (!text.includes("planted_statements")) return read;
      return async (...values) => {
        await log(open(3, "approved"), daysAgo(20));
        const rows = await read(...values);
        await log(open(4, "approved"), daysAgo(20));
        return rows;
      };
    };
    const context = { ...test.app.context, database: Object.assign(Object.create(database), { statement }) };
    files = await makePack(true, "payer", context);
    expect(await check()).toMatchObject({ status: "pass", warnings: [expect.stringMatching(/^2 planted/)] });
    // An agent that nothing counts, and a schedule that has yet to end.
    const soon = { ...schedule, until: new Date(Date.now() + dayMs / 2).toISOString() };
    await logPlanted(
      test.app.context,
      { document: soon, organizationId: owner.organizationId, groupId, until: soon.until, at: from },
      async () => null,
    );
    await test.call("POST", "/v1/authorize", { key, body: { agent_slug: "idle", action: "Pay" } });
    files = await makePack(true, "idle");
    expect((parse(files, packFiles.manifest) as { period: PackPeriod }).period.to < soon.until).toBe(true);
    expect(await check()).toMatchObject({ status: "pass" });
  });

  it("isn't shown of a group that has become too small, and can't be armed for one", async () => {
    const [carol, dave] = people;
    const memberIds = [carol?.id ?? "", dave?.id ?? ""];
    await saveGroup(test.app.context, owner, { id: groupId, name: "finance", memberIds });
    expect(await readPlanted(test.app.context, owner)).toEqual([]);
    await expect(armPlanted(test.app.context, owner, { groupId, perMonth: 1 })).rejects.toThrow(
      "needs 3 people",
    );
    const [group] = await db().select().from(approvers).where(eq(approvers.id, groupId));
    expect(group?.planted_per_month).toBe(20);
  });
});
