/** Guarantee: a device gets what its organization lets a lock screen show, and the mail comes if no device took it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { organizations } from "#lib/db/schema";
import type { Context } from "#lib/services/approvals/context";
import { startTestApp, type TestApp } from "#support/app";
import { sendAll } from "#support/approvers";
import { ask } from "#support/authorizations";
import { enrolGroup, mailsTo } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { createPushService } from "#support/push-service";
import {
  addDevice,
  deriveVapidKeys,
  listDevices,
  maxDevices,
  pushToDevices,
  readPushKey,
  removeDevice,
  subscriptionSchema,
} from "./push";

const message = {
  title: "t",
  body: "b",
  url: "https://x.example/approve/a",
  subject: "areq_1",
  seconds: 600,
};

describe("a device that is notified", () => {
  let test: TestApp;
  let context: Context;
  let owner: MemberPrincipal;
  let ana: Awaited<ReturnType<typeof enrolGroup>>[number];
  let service: ReturnType<typeof createPushService>;
  let key: string;
  let counter = 0;
  const acting = () => ({ approver: ana.approver, actor: { kind: "user", id: "test", ip: null } as const });
  const add = (subscription: Parameters<typeof addDevice>[2]["subscription"], name = "Phone") =>
    addDevice(context, acting(), { name, subscription });
  const pay = (more: object = {}) =>
    ask(test, key, {
      agent_slug: `treasury-bot${counter}`,
      action: "Pay invoice 1042",
      amount: { value: "12000.50", currency: "EUR" },
      context: { payee: "Example Ltd" },
      required_approvers: [{ group: "Finance", count: 1 }],
      required_level: "none",
      ...more,
    });

  beforeAll(async () => {
    test = await startTestApp();
    context = test.app.context;
    service = createPushService(readPushKey(context));
    context.postPush = service.post;
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    counter += 1;
    const email = `owner${counter}@example.com`;
    owner = await signInPerson(context, email);
    key = (await test.createKey(email)).key;
    [ana] = (await enrolGroup(test, email, "Finance", `Ana${counter}`)) as [typeof ana];
    service.state.status = null;
  });

  it("names what a hook's call runs", async () => {
    const phone = service.subscribe();
    await add(phone.subscription);
    await pay({ action: "Use the tool Bash", tool: "Bash", context: { command: "git push" } });
    await sendAll(test);
    expect(phone.received[0]?.message["body"]).toMatch(/^git push\. Expires in /);
  });

  it("gets the facts encrypted within a round, once, and no mail comes", async () => {
    const phone = service.subscribe();
    await add(phone.subscription);
    const before = (await mailsTo(test, ana.email)).length;
    await pay();
    await sendAll(test);
    expect(phone.received).toHaveLength(1);
    const [{ message: shown, topic, ttl } = { message: {}, topic: "", ttl: 0 }] = phone.received;
    expect(shown["title"]).toBe(`[TEST] 12,000.50 EUR to Example Ltd: treasury-bot${counter} asks you`);
    expect(shown["body"]).toMatch(/^Pay invoice 1042\. Expires in \d+ (minutes|hours)\.$/);
    expect(shown["url"]).toMatch(/\/approve\//);
    expect(Object.keys(shown).sort()).toEqual(["body", "tag", "title", "url"]);
    expect(topic).toHaveLength(32);
    expect(ttl).toBeGreaterThan(60);
    expect(await mailsTo(test, ana.email)).toHaveLength(before);
  });

  it("gets one message about several within a minute: how many, and what each asks", async () => {
    const phone = service.subscribe();
    await add(phone.subscription);
    await pay();
    await sendAll(test);
    await pay();
    await pay({ action: "Rent for May", amount: null, context: {} });
    // The minute after the first is over.
    await context.database.query(
      "UPDATE notices SET next_attempt_at = next_attempt_at - interval '61 seconds' WHERE organization_id = $1",
      [owner.organizationId],
    );
    await sendAll(test);
    expect(phone.received).toHaveLength(2);
    const shown = phone.received[1]?.message ?? {};
    expect(shown["title"]).toBe(`[TEST] treasury-bot${counter} asks you 2 times`);
    expect(String(shown["body"]).split("; ").sort()).toEqual([
      "12,000.50 EUR to Example Ltd: Pay invoice 1042",
      "Rent for May",
    ]);
  });

  it("shows only that a request waits if the organization wants that", async () => {
    await context.database.db.update(organizations).set({ push_shows_facts: false });
    const phone = service.subscribe();
    await add(phone.subscription);
    await pay();
    await sendAll(test);
    const text = JSON.stringify(phone.received[0]?.message);
    expect(text).toContain("A request waits for your approval");
    expect(text).not.toMatch(/12,000|Example Ltd|treasury|1042/);
    await context.database.db.update(organizations).set({ push_shows_facts: true });
  });

  it.each([
    ["has ended its subscription", (phone: ReturnType<typeof service.subscribe>) => phone.end(), 0],
    ["is refused by its push service", () => (service.state.status = 503), 1],
  ])("that %s gives the mail way", async (_what, breakIt, left) => {
    const phone = service.subscribe();
    await add(phone.subscription);
    const before = (await mailsTo(test, ana.email)).length;
    breakIt(phone);
    await pay();
    await sendAll(test);
    expect(await mailsTo(test, ana.email)).toHaveLength(before + 1);
    const devices = await listDevices(context, ana.id);
    expect(devices.map(({ isFailing }) => isFailing)).toEqual(left === 0 ? [] : [true]);
  });

  it("is reached besides one that isn't, and by another service's key not at all", async () => {
    const [phone, laptop] = [service.subscribe(), service.subscribe()];
    await add(phone.subscription);
    await add(laptop.subscription, "Laptop");
    laptop.end();
    expect(await pushToDevices(context, ana.id, message)).toBe(1);
    const stranger = { ...context, secrets: { ...context.secrets, webPush: new Uint8Array(48).fill(7) } };
    expect(await pushToDevices(stranger, ana.id, message)).toBe(0);
    expect(phone.received).toHaveLength(1);
  });

  it("is listed once however often it subscribes, removed by its owner alone, and one of ten", async () => {
    const phone = service.subscribe();
    await add(phone.subscription);
    await add(phone.subscription, "Phone again");
    const [device] = await listDevices(context, ana.id);
    expect(device).toMatchObject({ name: "Phone again", isFailing: false });
    const [ben] = await enrolGroup(test, owner.email, "Legal", `Ben${counter}`);
    const other = { approver: ben?.approver ?? ana.approver, actor: acting().actor };
    await expect(removeDevice(context, other, device?.id ?? "")).rejects.toMatchObject({
      errorName: "not_found",
    });
    await removeDevice(context, acting(), device?.id ?? "");
    expect(await listDevices(context, ana.id)).toEqual([]);
    const all = await Promise.allSettled(
      Array.from({ length: maxDevices + 3 }, () => add(service.subscribe().subscription)),
    );
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(maxDevices);
    expect(await listDevices(context, ana.id)).toHaveLength(maxDevices);
  });

  it.each([
    ["https://10.0.0.1/send", "must lead to a public address"],
    ["http://push.example/send", "must be an https URL"],
  ])("can't lead the service to %s", async (endpoint, problem) => {
    const { keys } = service.subscribe().subscription;
    // Hosts that the operator has named are for webhooks.
    Object.assign(context.settings, { WEBHOOK_ALLOWED_HOSTS: ["10.0.0.1"] });
    await expect(add({ endpoint, keys })).rejects.toThrow(problem);
    Object.assign(context.settings, { WEBHOOK_ALLOWED_HOSTS: [] });
  });
});

it("reads a subscription as browsers write it, and none that nothing could be sent to", () => {
  const { subscription } = createPushService("").subscribe();
  const asBrowsers = { ...subscription, expirationTime: null };
  expect(subscriptionSchema.safeParse(asBrowsers).success).toBe(true);
  const { keys } = subscription;
  const offCurve = Buffer.alloc(65, 4).toString("base64url");
  for (const [changed, problem] of [
    [{ keys: { ...keys, auth: "AAAA" } }, "must be 16 bytes in base64url"],
    [{ keys: { ...keys, p256dh: offCurve } }, "must be a point of P-256"],
    [{ endpoint: "http://localhost:3000/send" }, "must be an https URL"],
  ] as const)
    expect(subscriptionSchema.safeParse({ ...subscription, ...changed }).error?.issues).toMatchObject([
      { message: problem },
    ]);
});

it("has the same VAPID keys for the same secret, on the curve even for the largest", () => {
  const secret = new Uint8Array(48).fill(255);
  expect(deriveVapidKeys(secret)).toEqual(deriveVapidKeys(secret));
  expect(deriveVapidKeys(new Uint8Array(48)).privateKey).toMatch(/AE$/);
  expect(Buffer.from(deriveVapidKeys(secret).publicKey, "base64url")).toHaveLength(65);
});
