/**
 * Guarantee: what the audit log and decisions say reaches the collector at least once, as OCSF 1.5.0, whatever fails on the way;
 * and nothing is sent unless the address of logs itself is set.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Context } from "#lib/services/approvals/context";
import { startTestApp, type TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { enrolApprover } from "#support/enrol";
import { signInPerson } from "#support/portal";
import {
  dropUnsent,
  openExporter,
  type PartialSuccess,
  readExportState,
  type Send,
  sendDue,
  startAuditExport,
  toOcsf,
} from "./audit-events";

/** The classes and objects in use, without words, of the public schema (the PyPI package ocsf-json-schema 1.2.0 made it). */
const { $defs, ...classes } = JSON.parse(readFileSync("e2e/support/ocsf-1.5.0.json", "utf8"));
const ajv = new Ajv2020({ strict: false });
const validators = Object.fromEntries(
  Object.entries<object>(classes).map(([uid, schema]) => [uid, ajv.compile({ ...schema, $defs })]),
);

let test: TestApp;
let context: Context;
const query = async (text: string, ...values: unknown[]) => (await context.database.query(text, values)).rows;
const countDue = async () =>
  Number((await query("SELECT count(*) AS n FROM audit_events WHERE export_due_at IS NOT NULL"))[0]?.["n"]);
beforeAll(async () => {
  test = await startTestApp();
  ({ context } = test.app);
  const { key } = await test.createKey("owner@example.com");
  await enrolApprover(test, await signInPerson(context, "owner@example.com"), "Ana");
  const { made } = await ask(test, key);
  await test.call("DELETE", `/v1/authorize/${made.request_id}`, { key });
});
afterAll(() => test.close());
beforeEach(() => query("UPDATE audit_events SET export_due_at = now()"));

describe("an event", () => {
  const row = {
    id: "01999999-9999-7999-8999-999999999999",
    organization_id: "01999999-9999-7999-8999-999999999998",
    subject: "someone@example.com",
    detail: { session: "sess_1", role: "owner" },
    created_at: new Date("2026-11-29T08:00:00.123Z"),
    export_due_at: null,
  };
  it.each([
    ["directory_user.created", 3001, 1],
    ["directory_user.activated", 3001, 2],
    ["directory_user.deactivated", 3001, 5],
    ["directory_user.removed", 3001, 6],
    ["directory_user.changed", 3001, 99],
    ["directory_group.created", 6003, 1],
    ["session.ended", 3002, 2],
    ["member.joined", 3001, 1],
    ["member.removed", 3001, 6],
    ["member.role_changed", 3001, 99],
    ["passkey.enrolled", 3001, 10],
    ["passkey.removed", 3001, 11],
    ["approver.added", 3001, 99],
    ["session.started", 3002, 1],
    ["session.confirmed", 3002, 99],
    ["api_key.created", 6003, 1],
    ["attestations.exported", 6003, 2],
    ["rules.changed", 6003, 3],
    ["attestation.erased", 6003, 4],
    ["authorization.approved", 6003, 99],
    ["agent.frozen", 6003, 99],
  ])("%s is of class %i with activity %i, by whichever kind of actor", (action, class_uid, activity_id) => {
    for (const actor_kind of ["user", "key", "human", "system"] as const)
      for (const ip of [null, "192.0.2.1"]) {
        const event = toOcsf({ ...row, action, actor_kind, actor: "a", ip });
        expect(event).toMatchObject({ class_uid, activity_id, type_uid: class_uid * 100 + activity_id });
        const validate = validators[class_uid];
        expect([validate?.(event), validate?.errors]).toEqual([true, null]);
      }
  });
});

describe("the outbox of events", () => {
  it("sends each once to a collector that takes them, also if two processes send at once", async () => {
    const sent: string[] = [];
    const send: Send = async (events) => void sent.push(...events.map(({ body }) => JSON.stringify(body)));
    const due = await countDue();
    expect(due).toBeGreaterThan(5);
    const counts = await Promise.all([sendDue(context.database, send), sendDue(context.database, send)]);
    expect(counts[0] + counts[1]).toBe(due);
    expect(new Set(sent).size).toBe(due);
    expect(await countDue()).toBe(0);
    const actions = sent.map((text) => JSON.parse(text).activity_name);
    expect(actions).toEqual(expect.arrayContaining(["authorization.cancelled", "passkey.enrolled"]));
  });

  it("keeps what a collector refused, and what a process that died had taken", async () => {
    const due = await countDue();
    await expect(sendDue(context.database, () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
    expect(await countDue()).toBe(due);
    // Takes none at once: another process may still be sending them.
    expect(await sendDue(context.database, async () => {})).toBe(0);
    await query("UPDATE audit_events SET export_due_at = now() WHERE export_due_at IS NOT NULL");
    expect(await sendDue(context.database, async () => {})).toBe(due);
  });

  it("speaks OTLP by the address of logs alone, and fails if the answer is no success", async () => {
    const requests: { path: string; body: string }[] = [];
    let status = 200;
    let answer = "{}";
    const read = async (incoming: IncomingMessage) => {
      let body = "";
      for await (const part of incoming) body += part;
      return body;
    };
    const server = createServer(async (incoming, outgoing) => {
      requests.push({ path: incoming.url ?? "", body: await read(incoming) });
      outgoing.writeHead(status, { "content-type": "application/json" }).end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in/logs`;
    const partial: PartialSuccess[] = [];
    const { send, close } = await openExporter(
      { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: address, OTEL_SERVICE_NAME: "here" },
      (one) => void partial.push(one),
    );
    const due = await countDue();
    status = 400;
    await expect(sendDue(context.database, send)).rejects.toThrow();
    await query("UPDATE audit_events SET export_due_at = now() WHERE export_due_at IS NOT NULL");
    status = 200;
    expect(await sendDue(context.database, send)).toBe(due);
    expect(partial).toEqual([]);
    // OTLP, "Partial Success": never again what was rejected, and a warning without a number rejects nothing.
    for (const [records, message] of [
      [2, "too old"],
      [0, "slow down"],
    ] as const) {
      await query("UPDATE audit_events SET export_due_at = now()");
      const rejectedLogRecords = records === 0 ? undefined : String(records);
      answer = JSON.stringify({ partialSuccess: { rejectedLogRecords, errorMessage: message } });
      expect(await sendDue(context.database, send)).toBe(due);
      expect([await countDue(), partial.pop()]).toEqual([0, { records, message }]);
    }
    await close();
    server.close();
    expect(requests.map(({ path }) => path)).toEqual(Array(4).fill("/in/logs"));
    const [resource] = JSON.parse(requests[1]?.body ?? "").resourceLogs;
    expect(resource.resource.attributes).toEqual([{ key: "service.name", value: { stringValue: "here" } }]);
    const { logRecords } = resource.scopeLogs[0];
    expect(logRecords).toHaveLength(due);
    const { body, severityNumber } = logRecords[0];
    expect(severityNumber).toBe(9);
    const fields = body.kvlistValue.values.map(({ key }: { key: string }) => key);
    expect(fields).toEqual(expect.arrayContaining(["class_uid", "type_uid", "time", "metadata", "actor"]));
  });

  it("keeps how much a collector rejected, and says what has waited for it", async () => {
    expect(await readExportState(context.database)).toEqual({ rejected: 0, lastDay: null, late: 0 });
    const server = createServer((incoming, outgoing) => {
      incoming.resume();
      outgoing
        .writeHead(200, { "content-type": "application/json" })
        .end('{"partialSuccess":{"rejectedLogRecords":"2"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`;
    const settings = { ...context.settings, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: url };
    const stop = startAuditExport({ ...context, settings });
    for (const rejected of [2, 4]) {
      const lastDay = new Date().toISOString().slice(0, 10);
      await expect.poll(() => readExportState(context.database)).toEqual({ rejected, lastDay, late: 0 });
      await query("UPDATE audit_events SET export_due_at = now()");
    }
    await stop();
    server.close();
    await query(
      "UPDATE audit_events SET export_due_at = now(), created_at = now() - interval '11 minutes' WHERE action = 'passkey.enrolled'",
    );
    expect((await readExportState(context.database)).late).toBe(1);
  });

  it("is off unless its address is set, and then begins with the last week", async () => {
    const quiet = startAuditExport(context);
    await quiet();
    const due = await countDue();
    await query(
      "UPDATE audit_events SET export_due_at = now() - interval '8 days' WHERE action = 'api_key.created'",
    );
    await dropUnsent(context.database.db);
    expect(await countDue()).toBe(due - 1);
  });
});
