/** Guarantees: the audit log leaves by the permission `audit` and by roles that may take it out, whole, filtered and in order. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { Context } from "#lib/services/approvals/context";
import { startTestApp, type TestApp } from "#support/app";
import { signInPerson } from "#support/portal";
import { recordAudit } from "./audit";
import { deleteOldAudit, exportAudit } from "./audit-list";

let test: TestApp;
let context: Context;
let owner: MemberPrincipal;
let key: string;
const query = async (text: string, ...values: unknown[]) => (await context.database.query(text, values)).rows;

beforeAll(async () => {
  test = await startTestApp();
  ({ context } = test.app);
  owner = await signInPerson(context, "owner@example.com");
  ({ key } = await test.createKey(owner.email, ["audit"]));
  for (let n = 0; n < 5; n += 1)
    await query(
      `INSERT INTO audit_events (id, organization_id, actor_kind, actor, action, subject, detail, ip, created_at)
        VALUES (('00000000-0000-7000-8000-00000000000' || $1)::uuid, $2, $3, $4, $5, '=1+1', $6, '192.0.2.1', $7)`,
      String(n),
      owner.organizationId,
      n % 2 === 0 ? "user" : "system",
      `person${n}@example.com`,
      n < 2 ? "member.invited" : "memberships.read",
      JSON.stringify({ session: "sess_1", n }),
      `2026-01-0${n + 1}T12:00:00.000Z`,
    );
});
afterAll(() => test.close());

describe("GET /v1/audit", () => {
  const read = (search = "", headers = {}) => test.call("GET", `/v1/audit${search}`, { key, headers });
  const subjects = async (search: string) =>
    (await read(search)).body.events.map(({ actor }: { actor: string }) => actor);

  it("answers each event once, newest first, a page at a time, and nobody else's", async () => {
    await test.createKey("stranger@example.com");
    const all = (await read("?limit=1000")).body;
    expect(all.next_cursor).toBeNull();
    const total = await query("SELECT id FROM audit_events WHERE organization_id = $1", owner.organizationId);
    expect(all.events).toHaveLength(total.length);
    const paged = [];
    let cursor: string | null = null;
    do {
      const { body } = await read(`?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`);
      paged.push(...body.events);
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(paged).toEqual(all.events);
    expect(all.events.at(-1)).toEqual({
      event_id: "00000000-0000-7000-8000-000000000000",
      at: "2026-01-01T12:00:00.000Z",
      actor_kind: "user",
      actor: "person0@example.com",
      actor_name: null,
      action: "member.invited",
      subject: "=1+1",
      subject_name: null,
      detail: { n: 0 },
      ip: "192.0.2.1",
      session: "sess_1",
    });
  });

  it.each([
    ["?action=member.invited", [1, 0]],
    ["?action=member", [1, 0]],
    ["?action=memberships", [4, 3, 2]],
    ["?actor_kind=system&until=2026-02-01T00:00:00Z", [3, 1]],
    ["?from=2026-01-02T12:00:00Z&until=2026-01-04T12:00:00Z", [2, 1]],
    ["?action=member.removed", []],
  ])("filters: %s", async (search, numbers) => {
    expect(await subjects(search)).toEqual(numbers.map((n) => `person${n}@example.com`));
  });

  it("lists events of one millisecond in the order in which they were recorded", async () => {
    const actor = { kind: "system", id: "test", ip: null } as const;
    const { organizationId } = owner;
    const now = new Date();
    for (const n of [1, 2, 3]) {
      const moment = { clock: () => now, random: () => new Uint8Array(16).fill(9 - n) };
      const event = { organizationId, actor, action: "moment.test", subject: String(n) };
      await recordAudit(moment, context.database.db, event);
    }
    const { events } = (await read("?action=moment.test")).body;
    expect(events.map(({ subject }: { subject: string }) => subject)).toEqual(["3", "2", "1"]);
  });

  it.each(["?limit=0", "?cursor=x", "?from=yesterday", "?actor_kind=robot", "?action=a b", "?x=1"])(
    "says what is wrong with %s",
    async (search) => {
      const { status, body } = await read(search);
      expect([status, body.code]).toEqual([400, "bad_request"]);
    },
  );

  it("gives a line an event to whoever asks for NDJSON, and where the next page is", async () => {
    const { headers, body } = await read("?limit=3", { accept: "application/x-ndjson" });
    expect(headers.get("content-type")).toBe("application/x-ndjson");
    const lines = body
      .trimEnd()
      .split("\n")
      .map((line: string) => JSON.parse(line));
    expect(lines).toEqual((await read("?limit=3")).body.events);
    const [, next = ""] = /^<\/v1\/audit(\?[^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
    const second = (await read(next)).body.events;
    expect(second[0].event_id < lines[2].event_id).toBe(true);
    expect((await read("?limit=1000", { accept: "application/x-ndjson" })).headers.get("link")).toBeNull();
  });
});

describe("the audit log as a file", () => {
  it("says the time in words and runs no formula in a spreadsheet; NDJSON is exact", async () => {
    const write = async (format: "csv" | "ndjson") => {
      let text = "";
      const filters = { kind: undefined, from: "2026-01-01", until: "2026-01-01" };
      for await (const part of await exportAudit(context, owner, format, filters)) text += part;
      return text;
    };
    const [header, line, rest] = (await write("csv")).split("\r\n");
    expect(header).toContain('"when","action","subject"');
    expect(line).toMatch(/^"2026-01-01 12:00:00 UTC","member.invited","'=1\+1"/);
    expect(rest).toBe("");
    expect(JSON.parse(await write("ndjson"))).toMatchObject({ subject: "=1+1", detail: { n: 0 } });
    const [event] = await query("SELECT detail FROM audit_events WHERE action = 'audit.exported' LIMIT 1");
    expect(event).toMatchObject({ detail: { filters: expect.stringContaining("2026-01-01") } });
  });

  it("forgets what is older than the operator keeps, but who was removed, and nothing on legal hold", async () => {
    const old = async () =>
      (await query("SELECT action FROM audit_events WHERE created_at < '2026-02-01' ORDER BY id")).map(
        ({ action }) => action,
      );
    await query(
      "UPDATE audit_events SET action = 'member.removed' WHERE id = '00000000-0000-7000-8000-000000000002'",
    );
    await query("UPDATE organizations SET legal_hold_since = now()");
    await deleteOldAudit(context.database.db, 30);
    expect(await old()).toHaveLength(5);
    await query("UPDATE organizations SET legal_hold_since = NULL");
    const { body } = await test.call("GET", "/v1/audit?limit=1000", { key });
    await deleteOldAudit(context.database.db, 30);
    expect(await old()).toEqual(["member.removed"]);
    const after = (await test.call("GET", "/v1/audit?limit=1000", { key })).body.events;
    expect(after).toHaveLength(body.events.length - 4);
  });
});
