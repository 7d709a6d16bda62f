/**
 * Web Push to approvers' devices (RFC 8030), encrypted to each (RFC 8291) and signed as this service (RFC 8292). The
 * browser named the push service's address: requests go to public addresses alone.
 */

import { createECDH, createHash, ECDH } from "node:crypto";
import { buildPushPayload } from "@block65/webcrypto-web-push";
import { and, asc, eq, sql } from "drizzle-orm";
import { z } from "zod";
import type { ShownDevice } from "#lib/api/schemas/portal";
import { approvers, organizations, pushDevices } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { mayReachLoopback, requireReceiver } from "#lib/jobs/guarded-request";
import { base64UrlDecode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { personNotFound } from "#lib/services/accounts/members";
import type { Acting } from "#lib/services/accounts/passkeys";

/** Order of P-256's base point. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** VAPID's key pair in base64url, from 48 secret bytes (FIPS 186-5, A.2.1): a lost AUTH_SECRET ends all subscriptions. */
export function deriveVapidKeys(secret: Uint8Array): { publicKey: string; privateKey: string } {
  const scalar = (BigInt(`0x${Buffer.from(secret).toString("hex")}`) % (order - 1n)) + 1n;
  const privateKey = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex");
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(privateKey);
  return { publicKey: pair.getPublicKey("base64url"), privateKey: privateKey.toString("base64url") };
}

function isAccepted(check: () => unknown): boolean {
  try {
    return Boolean(check());
  } catch {
    return false;
  }
}

const bytesOf = (length: number) =>
  z
    .string()
    .max(100)
    .refine(
      (text) => isAccepted(() => base64UrlDecode(text).length === length),
      `must be ${length} bytes in base64url`,
    );

/** Throws unless the point is on the curve: nothing could be encrypted for it. */
const toPoint = (text: string) => ECDH.convertKey(text, "prime256v1", "base64url", "hex", "uncompressed");

/** Part of `PushSubscription.toJSON()` that is read. Push services have https, even one on this machine (RFC 8030, section 8). */
export const subscriptionSchema = z.object({
  endpoint: z.url({ protocol: /^https$/, error: "must be an https URL" }).max(1_000),
  keys: z.object({
    p256dh: bytesOf(65).refine((text) => isAccepted(() => toPoint(text)), "must be a point of P-256"),
    auth: bytesOf(16),
  }),
});

export type Subscription = z.output<typeof subscriptionSchema>;

export const maxDevices = 10;

export const readPushKey = ({ secrets }: AccountsContext): string =>
  deriveVapidKeys(secrets.webPush).publicKey;

export const hashText = (text: string) => createHash("sha256").update(text).digest("base64url");

export async function listDevices({ database }: AccountsContext, approverId: string): Promise<ShownDevice[]> {
  const rows = await database.db
    .select()
    .from(pushDevices)
    .where(eq(pushDevices.approver_id, approverId))
    .orderBy(asc(pushDevices.created_at));
  return rows.map(({ id, name, created_at, failed_at, endpoint }) => ({
    id,
    name,
    createdAt: created_at.toISOString(),
    isFailing: failed_at !== null,
    mark: hashText(endpoint),
  }));
}

export async function addDevice(
  context: AccountsContext,
  { approver, actor }: Acting,
  { name, subscription }: { name: string; subscription: Subscription },
): Promise<void> {
  const settings = { ...context.settings, WEBHOOK_ALLOWED_HOSTS: [] };
  requireReceiver({ settings }, "endpoint", subscription.endpoint);
  const { endpoint, keys } = subscription;
  const id = uuidV7(context.clock().getTime(), context.random(16));
  await context.database.db.transaction(async (tx) => {
    // The person's lock: two browsers at once must not exceed the limit.
    await tx.select().from(approvers).where(eq(approvers.id, approver.id)).for("no key update");
    const others = await tx.$count(
      pushDevices,
      and(eq(pushDevices.approver_id, approver.id), sql`${pushDevices.endpoint} <> ${endpoint}`),
    );
    if (others >= maxDevices)
      throw new AppError("validation_error", `${maxDevices} devices are the most; remove one to add another`);
    const set = { ...keys, name, failed_at: null };
    await tx
      .insert(pushDevices)
      .values({ id, approver_id: approver.id, endpoint, ...set })
      .onConflictDoUpdate({ target: [pushDevices.approver_id, pushDevices.endpoint], set });
    await recordAudit(context, tx, {
      organizationId: approver.organizationId,
      actor,
      action: "device.added",
      subject: approver.email,
      detail: { name },
    });
  });
}

export async function removeDevice(
  context: AccountsContext,
  { approver, actor }: Acting,
  deviceId: string,
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    const [removed] = await tx
      .delete(pushDevices)
      .where(and(eq(pushDevices.id, deviceId), eq(pushDevices.approver_id, approver.id)))
      .returning({ name: pushDevices.name });
    if (removed === undefined) throw personNotFound();
    await recordAudit(context, tx, {
      organizationId: approver.organizationId,
      actor,
      action: "device.removed",
      subject: approver.email,
      detail: { name: removed.name },
    });
  });
}

export interface PushMessage {
  title: string;
  body: string;
  /** Leads to the approval page: nobody decides in a notification. */
  url: string;
  /** The same for all messages about a request: the later replaces the earlier. */
  subject: string;
  /** Seconds for which the push service keeps it for a device that is off. */
  seconds: number;
}

const discreet = { title: "A request waits for your approval", body: "Open it to see what it is." };

const patienceMs = 10_000;
const maxBodyCharacters = 400;

/** Subscriptions that the push service has ended (RFC 8030, 7.3). */
const ended = [404, 410];

/** Returns how many devices' push services took it. Ended subscriptions are deleted. */
export async function pushToDevices(
  context: AccountsContext,
  approverId: string,
  message: PushMessage,
): Promise<number> {
  const { db } = context.database;
  const devices = await db
    .select({
      id: pushDevices.id,
      endpoint: pushDevices.endpoint,
      p256dh: pushDevices.p256dh,
      auth: pushDevices.auth,
      showsFacts: organizations.push_shows_facts,
    })
    .from(pushDevices)
    .innerJoin(approvers, eq(approvers.id, pushDevices.approver_id))
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(eq(pushDevices.approver_id, approverId));
  const { settings, secrets } = context;
  const vapid = {
    ...deriveVapidKeys(secrets.webPush),
    subject: settings.baseUrl.startsWith("https:") ? settings.baseUrl : "mailto:operator@localhost",
  };
  const taken = devices.map(async ({ id, endpoint, p256dh, auth, showsFacts }) => {
    const { title, body } = showsFacts ? message : discreet;
    const data = {
      title,
      body: body.slice(0, maxBodyCharacters),
      url: message.url,
      tag: hashText(message.subject),
    };
    const options = { ttl: message.seconds, urgency: "high", topic: data.tag.slice(0, 32) } as const;
    const subscription = { endpoint, expirationTime: null, keys: { p256dh, auth } };
    const { headers, body: encrypted } = await buildPushPayload({ data, options }, subscription, vapid);
    const answer = await context.postPush({
      method: "POST",
      url: endpoint,
      headers,
      body: encrypted,
      mayBeLoopback: mayReachLoopback(settings),
      timeoutMs: patienceMs,
      maxBytes: 0,
    });
    const { status } = answer;
    const isTaken = status !== null && status >= 200 && status < 300;
    if (status !== null && ended.includes(status)) await db.delete(pushDevices).where(eq(pushDevices.id, id));
    else
      await db
        .update(pushDevices)
        .set({ failed_at: isTaken ? null : sql`clock_timestamp()` })
        .where(eq(pushDevices.id, id));
    if (!isTaken)
      context.logger.warn(
        { status, host: new URL(endpoint).host, ...(answer.status === null && { problem: answer.problem }) },
        "a push service didn't take a message",
      );
    return isTaken;
  });
  const results = await Promise.allSettled(taken);
  for (const result of results)
    if (result.status === "rejected")
      context.logger.warn({ err: result.reason }, "a notification could not be sent to a device");
  return results.filter((result) => result.status === "fulfilled" && result.value).length;
}
