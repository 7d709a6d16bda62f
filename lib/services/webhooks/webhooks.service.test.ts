/**
 * Webhooks from the change of state to the receiver. Guarantees: every end of a request and every attestation is announced
 * once, to whoever asked for it and nobody else; what is sent says ids and states only; and it is signed by the keys of
 * its endpoint, as the package of Standard Webhooks and node:crypto find.
 */
import { createPublicKey, verify } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import type { WebhookWithSecret } from "#lib/api/schemas/webhooks";
import type { WebhookEvent } from "#lib/protocol/webhook/webhook";
import { approveUnproven, ask, expireRequest } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { measureMs, shortestMs } from "#support/shortest";
import { type Received, type Receiver, startReceiver } from "#support/webhook-receiver";
import { composeChat } from "./chat";
import { createDeliveries } from "./deliver";

/** True if one of the `v1a` signatures is that key's. */
function isSignedBy(publicKey: string | null, { headers, body }: Received): boolean {
  const raw = Buffer.from((publicKey ?? "").replace("whpk_", ""), "base64");
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") },
    format: "jwk",
  });
  const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
  const all = [...(headers["webhook-signature"] ?? "").matchAll(/(?:^| )v1a,(\S+)/g)];
  return all.some(([, text = ""]) => verify(null, signed, key, Buffer.from(text, "base64")));
}

const isOf = (secret: string, { headers, body }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

describe("webhooks", () => {
  const kind = anyKind;
  const { test } = setupTestApp(kind);
  let key: string;
  let organizationId: string;
  let receiver: Receiver;
  let person = 0;
  let others = 0;
  /** Each test has an organization and a receiver of its own. */
  beforeEach(async () => {
    person += 1;
    ({ key, organizationId } = await test.createKey(`owner-${person}@example.com`));
    receiver = await startReceiver();
    return () => receiver.close();
  });

  const api = (method: string, path: string, body?: object, as = key) =>
    test.call(method, `/v1/webhooks${path}`, { key: as, ...(body !== undefined && { body }) });
  const create = async (...events: WebhookEvent[]): Promise<WebhookWithSecret> => {
    const made = await api("POST", "", { url: receiver.url, events });
    expect(made.status).toBe(201);
    return made.body;
  };
  const query = (text: string, values: unknown[] = []) => test.query(text, values);
  const attest = (action = "Paid") =>
    test.call("POST", "/v1/attest", { key, body: { agent_slug: `bot-${person}`, action, inputs_hash: "x" } });
  const asking = (body: object = {}) => ask(test, key, { agent_slug: `bot-${person}`, ...body });
  const logOf = async ({ id }: { id: string }) => (await api("GET", `/${id}/deliveries`)).body.deliveries;
  const deliver = () => Promise.all(createDeliveries(test.app.context).map((deliveries) => deliveries.run()));
  const sent = async (count: number) => {
    await deliver();
    return receiver.expect(count);
  };
  /** Moves the next attempt to now, and waits until it was made. */
  const retryNow = async () => {
    await query("UPDATE webhook_deliveries SET next_attempt_at = now() WHERE last_problem IS NOT NULL");
    await deliver();
  };
  /** The newest delivery when an attempt has ended as it should. */
  const settled = async (endpoint: { id: string }, status: string, attempts = 1) => {
    for (;;) {
      await deliver();
      const [first] = await logOf(endpoint);
      const hasEnded = first?.last_status !== null || first?.last_problem !== null;
      if (first?.status === status && first.attempts === attempts && hasEnded) return first;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it("tell of every end of a request and of every attestation, once, in ids and states", async () => {
    const endpoint = await create(
      "authorization.approved",
      "authorization.denied",
      "authorization.expired",
      "authorization.cancelled",
      "attestation.created",
    );
    const context = { note: "SECRET-CONTEXT" };
    const [approved, denied, expired, cancelled] = [
      await asking({ context, action: "SECRET-ACTION 1" }),
      await asking({ context, action: "SECRET-ACTION 2" }),
      await asking({ context, action: "SECRET-ACTION 3" }),
      await asking({ context, action: "SECRET-ACTION 4" }),
    ];
    await approveUnproven(test, approved.made.request_id);
    expect((await denied.deny("SECRET-REASON")).status).toBe(200);
    // Nobody reads this one: the service notices by itself.
    await expireRequest(test, expired.made.request_id);
    await test.call("DELETE", `/v1/authorize/${cancelled.made.request_id}`, { key });
    const attested = (await attest("SECRET-ACTION 5")).body.attestation_id;
    const received = await sent(5);
    const messages = received.map(({ body }) => JSON.parse(body));
    expect(
      messages.map(({ type, data }) => ({ type, ...data })).sort((a, b) => (a.type < b.type ? -1 : 1)),
    ).toEqual([
      { type: "attestation.created", attestation_id: attested },
      { type: "authorization.approved", request_id: approved.made.request_id, status: "approved" },
      { type: "authorization.cancelled", request_id: cancelled.made.request_id, status: "cancelled" },
      { type: "authorization.denied", request_id: denied.made.request_id, status: "denied" },
      { type: "authorization.expired", request_id: expired.made.request_id, status: "expired" },
    ]);
    for (const message of received) {
      expect(message.body).not.toMatch(/SECRET|bot-/);
      expect(message.body.length).toBeLessThan(20_000);
      expect(JSON.parse(message.body).timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(message.headers["webhook-id"]).toMatch(/^msg_[0-9a-f]{32}$/);
      expect([isOf(endpoint.secret, message), isSignedBy(endpoint.public_key, message)]).toEqual([
        true,
        true,
      ]);
    }
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(5);
    const states = async () => (await logOf(endpoint)).map(({ status }: { status: string }) => status);
    await expect.poll(states).toEqual(Array(5).fill("delivered"));
  });

  it.each(["slack", "teams"] as const)(
    "tell people in a chat (%s) the facts and where to look, in words that can be no markup, link or decision",
    async (format) => {
      const made = await api("POST", "", {
        url: `${receiver.url}/SECRET-PLACE`,
        events: ["authorization.requested", "authorization.denied", "attestation.created"],
        format,
      });
      expect(made.body).toMatchObject({
        format,
        url: `${new URL(receiver.url).origin}/…`,
        shows_facts: true,
      });
      const asked = await asking({
        action: "<!channel> [Pay](https://evil.example) *now* password=hunter2hunter2",
        amount: { value: "12000.5", currency: "EUR" },
        context: { payee: "Example & Sons" },
        requester: "ada",
      });
      const [waiting] = await sent(1);
      expect(waiting?.path).toContain("SECRET-PLACE");
      expect(waiting?.headers).not.toHaveProperty("webhook-signature");
      const text = waiting?.body ?? "";
      for (const said of [
        "12,000.50 EUR",
        "ada",
        `/portal/authorizations/${asked.made.request_id}`,
        "[TEST] ",
      ])
        expect(text).toContain(said);
      for (const never of [asked.token, asked.made.approval_url, "hunter2", "https://evil"])
        expect(text).not.toContain(never);
      const message = JSON.parse(text);
      if (format === "slack") {
        expect(message.text).toBe(`[TEST] bot-${person} asks for an approval`);
        const parts = message.blocks.flatMap((block: { text?: object; fields?: object[] }) => [
          ...(block.text ? [block.text] : []),
          ...(block.fields ?? []),
        ]);
        const marked = parts.filter(({ type }: { type: string }) => type === "mrkdwn");
        expect(marked).toEqual([
          { type: "mrkdwn", text: expect.stringMatching(/^<http\S+\|Open in Countersign>$/) },
        ]);
      } else {
        const [{ contentType, content }] = message.attachments;
        expect(contentType).toBe("application/vnd.microsoft.card.adaptive");
        const kinds = content.body.flatMap(
          ({ type, inlines }: { type: string; inlines: { type: string }[] }) => [
            type,
            ...inlines.map((one) => one.type),
          ],
        );
        expect(new Set(kinds)).toEqual(new Set(["RichTextBlock", "TextRun"]));
        expect(content.actions).toEqual([expect.objectContaining({ type: "Action.OpenUrl" })]);
      }

      expect((await asked.deny("no")).status).toBe(200);
      expect((await sent(2))[1]?.body).toContain("Denied: a request of");
      expect((await api("PATCH", `/${made.body.id}`, { shows_facts: false })).body.shows_facts).toBe(false);
      await attest("SECRET-ACTION");
      const last = (await sent(3))[2]?.body ?? "";
      expect([last.includes("recorded an action"), last.includes("SECRET-ACTION")]).toEqual([true, false]);
      const { rows } = await query("SELECT detail::text FROM audit_events WHERE subject = $1", [
        made.body.id,
      ]);
      expect([rows.length > 0, JSON.stringify(rows).includes("SECRET-PLACE")]).toEqual([true, false]);
      expect(JSON.stringify(await logOf(made.body))).not.toContain("SECRET-PLACE");
      // A message may be on its way while its content is erased.
      const { attestation_id } = (await attest("ERASED")).body;
      const body = JSON.stringify({ type: "attestation.created", data: { attestation_id } });
      const compose = () => composeChat(test.app.context, format, { organizationId, body, showsFacts: true });
      expect(await compose()).toContain("ERASED");
      expect((await test.call("DELETE", `/v1/attestations/${attestation_id}/content`, { key })).status).toBe(
        200,
      );
      expect(await compose()).toBeNull();
    },
  );

  it.each(["standard", "slack"])("reach a private host that the operator has named (%s)", async (format) => {
    Object.assign(test.app.context.settings, { WEBHOOK_ALLOWED_HOSTS: ["fd00::1"] });
    const made = await api("POST", "", {
      url: "https://[fd00::1]/",
      events: ["attestation.created"],
      format,
    });
    await attest();
    const { last_problem } = await settled(made.body, "pending");
    Object.assign(test.app.context.settings, { WEBHOOK_ALLOWED_HOSTS: [] });
    expect(last_problem).toMatch(/^no (?:connection|answer)/);
  });

  it("are signed with the keys of their endpoint alone, over every byte that matters", async () => {
    const [one, other] = [await create("attestation.created"), await create("authorization.denied")];
    await attest();
    const [message] = await sent(1);
    if (message === undefined) throw new Error("nothing came");
    expect([isOf(one.secret, message), isOf(other.secret, message)]).toEqual([true, false]);
    expect([isSignedBy(one.public_key, message), isSignedBy(other.public_key, message)]).toEqual([
      true,
      false,
    ]);
    const changed = [
      { ...message, body: `${message.body} ` },
      { ...message, headers: { ...message.headers, "webhook-id": "msg_other" } },
      {
        ...message,
        headers: {
          ...message.headers,
          "webhook-timestamp": String(Number(message.headers["webhook-timestamp"]) + 1),
        },
      },
    ];
    for (const wrong of changed)
      expect([isOf(one.secret, wrong), isSignedBy(one.public_key, wrong)]).toEqual([false, false]);
  });

  it("tell each endpoint what it asked for, and nobody of another organization", async () => {
    const { key: stranger } = await test.createKey("stranger@example.com");
    const elsewhere = await startReceiver();
    const events = ["attestation.created", "authorization.denied"];
    await api("POST", "", { url: elsewhere.url, events }, stranger);
    const denials = await create("authorization.denied");
    await create("authorization.approved");
    await attest();
    await (await asking()).deny();
    expect((await sent(1)).map(({ body }) => JSON.parse(body).type)).toEqual(["authorization.denied"]);
    await retryNow();
    expect(await logOf(denials)).toHaveLength(1);
    expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0]);
    await elsewhere.close();
    const { rows } = await query(
      "SELECT count(*)::int AS n FROM webhook_messages WHERE organization_id = $1",
      [organizationId],
    );
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("are written together with the change of state, or not at all", async () => {
    await create("authorization.denied");
    const { made } = await asking();
    await expect(
      test.app.context.database.db.transaction(async (tx) => {
        await tx.execute(
          `UPDATE authorization_requests SET status = 'denied', decided_at = now() WHERE id = '${made.request_id}'`,
        );
        throw new Error("rolled back");
      }),
    ).rejects.toThrow("rolled back");
    const messages = await query("SELECT id FROM webhook_messages WHERE organization_id = $1", [
      organizationId,
    ]);
    expect(messages.rows).toEqual([]);
  });

  it("are each taken by one of several that look at the same time", async () => {
    const endpoint = await create("attestation.created");
    await Promise.all(Array.from({ length: 12 }, () => attest()));
    const states = async () => (await logOf(endpoint)).map(({ status }: { status: string }) => status);
    const allSent = () => expect.poll(states).toEqual(Array(12).fill("delivered"));
    await allSent();
    const before = receiver.received.length;
    await query(
      "UPDATE webhook_deliveries SET status = 'pending', next_attempt_at = now() WHERE endpoint_id = $1",
      [endpoint.id],
    );
    await Promise.all([deliver(), deliver(), deliver(), deliver()]);
    await allSent();
    expect([before, receiver.received.length]).toEqual([12, 24]);
  });

  it("are tried again under the same id until the receiver takes them", async () => {
    const endpoint = await create("attestation.created");
    receiver.answer = () => ({ status: 500 });
    await attest();
    await sent(1);
    const first = await settled(endpoint, "pending", 1);
    expect(first).toMatchObject({ status: "pending", last_status: 500, last_problem: "HTTP 500" });
    const waitMs = Date.parse(first.next_attempt_at) - Date.parse(first.last_attempt_at);
    expect(waitMs).toBeGreaterThan(4_000);
    expect(waitMs).toBeLessThan(30_000);
    receiver.answer = () => ({ status: 200 });
    await retryNow();
    await settled(endpoint, "delivered", 2);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect((await api("GET", `/${endpoint.id}`)).body.failing_since).toBeNull();
  });

  it("end after the last attempt, and can be replayed under the same id", async () => {
    const endpoint = await create("attestation.created");
    receiver.answer = () => ({ status: 503 });
    await attest();
    await settled(endpoint, "pending", 1);
    await query("UPDATE webhook_deliveries SET attempts = 9 WHERE endpoint_id = $1", [endpoint.id]);
    await retryNow();
    const last = await settled(endpoint, "failed", 10);
    expect(last).toMatchObject({ attempts: 10, next_attempt_at: null, last_problem: "HTTP 503" });
    receiver.answer = () => ({ status: 200 });
    const replayed = await api("POST", `/${endpoint.id}/deliveries/${last.message_id}/replay`);
    expect([replayed.status, replayed.body.status]).toEqual([202, "pending"]);
    await settled(endpoint, "delivered", 1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  it("stop when the receiver says that it is gone, and its owner gets an email", async () => {
    const endpoint = await create("attestation.created");
    receiver.answer = () => ({ status: 410 });
    await attest();
    await settled(endpoint, "failed", 1);
    const mailOf = async () =>
      (await test.call("GET", "/dev/mailbox")).body.messages.filter(
        ({ to }: { to: string }) => to === `owner-${person}@example.com`,
      );
    await expect.poll(mailOf).toHaveLength(1);
    expect((await api("GET", `/${endpoint.id}`)).body).toMatchObject({
      enabled: false,
      disabled_reason: "gone",
    });
    expect((await mailOf())[0].text).toContain(`/portal/webhooks/${endpoint.id}`);
    await attest();
    await retryNow();
    expect(receiver.received).toHaveLength(1);
    expect(await logOf(endpoint)).toHaveLength(1);
    const [{ message_id }] = await logOf(endpoint);
    for (const path of ["test", `deliveries/${message_id}/replay`])
      expect((await api("POST", `/${endpoint.id}/${path}`)).body.code).toBe("webhook_disabled");
    expect((await api("PATCH", `/${endpoint.id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
      failing_since: null,
    });
    receiver.answer = () => ({ status: 200 });
    await attest();
    await sent(2);
  });

  it("of an address that was changed meanwhile disable nothing", async () => {
    const endpoint = await create("attestation.created");
    const moved = await startReceiver();
    receiver.answer = async () => {
      await api("PATCH", `/${endpoint.id}`, { url: moved.url });
      return { status: 410 };
    };
    await attest();
    await settled(endpoint, "failed", 1);
    expect((await api("GET", `/${endpoint.id}`)).body).toMatchObject({
      url: moved.url,
      enabled: true,
      failing_since: null,
    });
    await moved.close();
  });

  it("end a failure by a success, also of a message that was on its way before it", async () => {
    const endpoint = await create("attestation.created");
    const failingSince = async () => (await api("GET", `/${endpoint.id}`)).body.failing_since;
    receiver.answer = async () => {
      receiver.answer = () => ({ status: 500 });
      await attest();
      await expect.poll(failingSince).not.toBeNull();
      return { status: 200 };
    };
    await attest();
    await expect.poll(async () => (await logOf(endpoint)).at(-1)?.status).toBe("delivered");
    await expect.poll(failingSince).toBeNull();
  });

  it("are not sent when an endpoint is enabled again, if they were written while it was being disabled", async () => {
    const endpoint = await create("attestation.created");
    await attest();
    await settled(endpoint, "delivered", 1);
    await api("PATCH", `/${endpoint.id}`, { enabled: false });
    // Adds one whose transaction saw the endpoint enabled, and committed after it was disabled.
    await query(
      "UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now() WHERE endpoint_id = $1",
      [endpoint.id],
    );
    await api("PATCH", `/${endpoint.id}`, { enabled: true });
    await deliver();
    expect(await logOf(endpoint)).toMatchObject([
      { status: "failed", attempts: 0, last_problem: "the endpoint was disabled" },
    ]);
    expect(receiver.received).toHaveLength(1);
  });

  // The embedded database has one session, so nothing comes between there.
  it.runIf(kind === "postgres")("are not sent again to an endpoint that is just being disabled", async () => {
    const endpoint = await create("attestation.created");
    await attest();
    const { message_id } = await settled(endpoint, "delivered", 1);
    const answers = await test.app.context.database.db.transaction(async (tx) => {
      await tx.execute(
        `UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'owner' WHERE id = '${endpoint.id}'`,
      );
      const asked = ["test", `deliveries/${message_id}/replay`].map((path) =>
        api("POST", `/${endpoint.id}/${path}`),
      );
      const sql =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      const waiting = expect.poll(async () => (await query(sql)).rows.length).toBe(2);
      await Promise.race([waiting, Promise.all(asked)]);
      return { both: Promise.all(asked) };
    });
    expect((await answers.both).map(({ body }) => body.code)).toEqual([
      "webhook_disabled",
      "webhook_disabled",
    ]);
    expect(await logOf(endpoint)).toMatchObject([{ status: "delivered" }]);
  });

  it("stop after five days without a success, and not before", async () => {
    const endpoint = await create("attestation.created");
    receiver.answer = () => ({ status: 500 });
    await attest();
    await settled(endpoint, "pending", 1);
    const failFor = async (hours: number) => {
      await query(
        "UPDATE webhook_endpoints SET failing_since = now() - make_interval(hours => $2) WHERE id = $1",
        [endpoint.id, hours],
      );
      const { length } = receiver.received;
      await retryNow();
      await sent(length + 1);
    };
    await failFor(119);
    await settled(endpoint, "pending", 2);
    expect((await api("GET", `/${endpoint.id}`)).body.enabled).toBe(true);
    await failFor(121);
    await settled(endpoint, "failed", 3);
    expect((await api("GET", `/${endpoint.id}`)).body).toMatchObject({
      enabled: false,
      disabled_reason: "failing",
    });
    const { rows } = await query(
      "SELECT actor, action FROM audit_events WHERE subject = $1 ORDER BY id DESC LIMIT 1",
      [endpoint.id],
    );
    expect(rows).toEqual([{ actor: "webhooks", action: "webhook.disabled" }]);
  });

  it("are signed by old and new keys while a rotation's overlap lasts", async () => {
    const before = await create("attestation.created");
    const after = (await api("POST", `/${before.id}/rotate`, { overlap_hours: 1 })).body;
    expect(after.public_key).not.toBe(before.public_key);
    expect(Date.parse(after.old_keys_until)).toBeGreaterThan(Date.now());
    const bySecret = (message: Received) => [isOf(before.secret, message), isOf(after.secret, message)];
    const byKey = (message: Received) => [
      isSignedBy(before.public_key, message),
      isSignedBy(after.public_key, message),
    ];
    await attest();
    const [both] = await sent(1);
    if (both === undefined) throw new Error("nothing came");
    expect([bySecret(both), byKey(both)]).toEqual([
      [true, true],
      [true, true],
    ]);
    await query("UPDATE webhook_endpoints SET old_keys_until = now() - interval '1 second' WHERE id = $1", [
      before.id,
    ]);
    await attest();
    const [, one] = await sent(2);
    if (one === undefined) throw new Error("nothing came");
    expect([bySecret(one), byKey(one)]).toEqual([
      [false, true],
      [false, true],
    ]);
    const last = (await api("POST", `/${before.id}/rotate`, { overlap_hours: 0 })).body;
    expect(last.old_keys_until).toBeNull();
  });

  it("reach the callback of a request, signed by the organization's callback keys", async () => {
    const { body: callbacks } = await api("GET", "/callback");
    const { secret, public_key } = (await api("POST", `/${callbacks.id}/rotate`, {})).body;
    const denied = await asking({ callback_url: `${receiver.url}?of=1` });
    const silent = await asking();
    await denied.deny();
    await silent.deny();
    const [message] = await sent(1);
    if (message === undefined) throw new Error("nothing came");
    expect(message.path).toBe("/hook?of=1");
    expect([isOf(secret, message), isSignedBy(public_key, message)]).toEqual([true, true]);
    const delivery = await settled(callbacks, "delivered", 1);
    await retryNow();
    expect(receiver.received).toHaveLength(1);
    expect((await api("GET", "")).body.webhooks).toEqual([]);
    expect(await logOf(callbacks)).toEqual([delivery]);
    expect(delivery.url).toBe(`${receiver.url}?of=1`);
    receiver.answer = () => ({ status: 410 });
    await (await asking({ callback_url: receiver.url })).deny();
    await settled(callbacks, "failed", 1);
    expect((await api("GET", "/callback")).body).toMatchObject({ id: callbacks.id, enabled: true });
  });

  it("are signed by the callback keys even if nobody has looked at them before", async () => {
    await (await asking({ callback_url: receiver.url })).deny();
    const [message] = await sent(1);
    const { public_key } = (await api("GET", "/callback")).body;
    expect(message && isSignedBy(public_key, message)).toBe(true);
  });

  it("go with the content that is erased", async () => {
    await create("authorization.approved", "attestation.created");
    receiver.answer = () => ({ status: 500 });
    const asked = await asking({ action: "Pay" });
    await approveUnproven(test, asked.made.request_id);
    const { human_authorization } = (await asked.read(key)).body;
    const body = { agent_slug: `bot-${person}`, action: "Pay", inputs_hash: "x", human_authorization };
    const { attestation_id } = (await test.call("POST", "/v1/attest", { key, body })).body;
    const left = async () =>
      (await query("SELECT subject FROM webhook_messages WHERE organization_id = $1", [organizationId])).rows
        .length +
      (
        await query(
          "SELECT 1 FROM webhook_deliveries JOIN webhook_endpoints e ON e.id = endpoint_id WHERE organization_id = $1",
          [organizationId],
        )
      ).rows.length;
    expect(await left()).toBe(4);
    expect((await test.call("DELETE", `/v1/attestations/${attestation_id}/content`, { key })).status).toBe(
      200,
    );
    expect(await left()).toBe(0);
  });

  /** Endpoints of a new organization, whose receiver never answers, each with as many messages. */
  const fillSilently = async (
    url: string,
    { endpoints, messages, isFailing }: { endpoints: number; messages: number; isFailing: boolean },
  ) => {
    others += 1;
    const other = await test.createKey(`silent-${others}@example.com`);
    const body = { url, events: ["attestation.created"] };
    for (let i = 0; i < endpoints; i += 1) expect((await api("POST", "", body, other.key)).status).toBe(201);
    if (isFailing)
      await query("UPDATE webhook_endpoints SET failing_since = now() WHERE organization_id = $1", [
        other.organizationId,
      ]);
    const attested = Array.from({ length: messages }, (_, i) =>
      test.call("POST", "/v1/attest", {
        key: other.key,
        body: { agent_slug: `silent-${others}`, action: `${i}`, inputs_hash: "x" },
      }),
    );
    for (const { status } of await Promise.all(attested)) expect(status).toBe(201);
  };
  /** When all places that it can get are held: no round brings another message. */
  const expectFull = async (silent: Receiver, places: number) => {
    await silent.expect(places);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(silent.received).toHaveLength(places);
  };
  /** Measures how long the app's own rounds need for a message of this test's organization. */
  const measureArrival = () =>
    measureMs(async () => {
      const before = receiver.received.length;
      await attest();
      await receiver.expect(before + 1);
    });

  it("arrive within two seconds while another organization's twenty endpoints are silent", async () => {
    const silent = await startReceiver(() => null);
    await fillSilently(silent.url, { endpoints: 20, messages: 40, isFailing: false });
    await expectFull(silent, 8);
    await create("attestation.created");
    expect(await shortestMs(2_000, measureArrival)).toBeLessThan(2_000);
    await query("DELETE FROM webhook_deliveries WHERE status = 'pending'");
    await silent.close();
  });

  it("go to public addresses alone, whether an endpoint or a request names them", async () => {
    const endpoint = await create("attestation.created");
    const url = "https://169.254.169.254/latest";
    const asked = { agent_slug: `bot-${person}`, action: "a", callback_url: url };
    const refused = [
      [await api("POST", "", { url, events: ["attestation.created"] }), "/url"],
      [await api("PATCH", `/${endpoint.id}`, { url }), "/url"],
      [await test.call("POST", "/v1/authorize", { key, body: asked }), "/callback_url"],
    ] as const;
    for (const [{ status, body }, pointer] of refused)
      expect([status, body.errors]).toEqual([422, [{ pointer, message: "must lead to a public address" }]]);
    const { webhooks } = (await api("GET", "")).body;
    expect(webhooks.map((one: { url: string }) => one.url)).toEqual([receiver.url]);
  });

  it("keep their keys unreadable in the database, and out of every answer but the first", async () => {
    const endpoint = await create("attestation.created");
    const secret = Buffer.from(endpoint.secret.replace("whsec_", ""), "base64");
    expect(secret.length).toBe(32);
    const { rows } = await query("SELECT encode(keys, 'hex') AS keys FROM webhook_endpoints WHERE id = $1", [
      endpoint.id,
    ]);
    expect(rows[0]?.["keys"]).not.toContain(secret.toString("hex"));
    await attest();
    await sent(1);
    const { secret: _, ...shown } = endpoint;
    expect((await api("GET", `/${endpoint.id}`)).body).toEqual(shown);
    expect((await api("GET", "")).body.webhooks).toEqual([shown]);
    expect(JSON.stringify([receiver.received, await logOf(endpoint)])).not.toContain(endpoint.secret);
    // Another endpoint's sealed keys are not these.
    const other = await create("attestation.created");
    await query(
      "UPDATE webhook_endpoints SET keys = (SELECT keys FROM webhook_endpoints WHERE id = $2) WHERE id = $1",
      [endpoint.id, other.id],
    );
    expect((await api("GET", `/${endpoint.id}`)).body).toEqual({ ...shown, public_key: null });
    expect((await api("GET", "")).body.webhooks).toHaveLength(2);
    await api("DELETE", `/${other.id}`);
    await attest();
    expect((await settled(endpoint, "pending")).last_problem).toBe(
      "its keys cannot be read any more: rotate them",
    );
    await api("POST", `/${endpoint.id}/rotate`, {});
    expect((await api("GET", `/${endpoint.id}`)).body).toMatchObject({
      public_key: expect.stringMatching(/^whpk_/),
      old_keys_until: null,
    });
    await attest();
    await sent(2);
  });
});
