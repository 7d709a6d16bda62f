/** An organization's endpoints: created, changed and deleted, by its keys and its members; and the keys that they sign with. */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { and, asc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { Principal } from "#lib/api/http/context";
import type {
  CreateWebhookBody,
  UpdateWebhookBody,
  Webhook,
  WebhookWithSecret,
} from "#lib/api/schemas/webhooks";
import type { Executor } from "#lib/db/client";
import { webhookDeliveries, webhookEndpoints } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { requireReceiver } from "#lib/jobs/guarded-request";
import { isUuid, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { derivePublicKey } from "#lib/protocol/keys/ed25519";
import {
  signWithSecret,
  signWithSeed,
  type WebhookEvent,
  type WebhookMessage,
  writePublicKey,
  writeSecret,
} from "#lib/protocol/webhook/webhook";
import { recordAct } from "#lib/services/accounts/audit";
import { lockOrganization } from "#lib/services/accounts/organizations";
import type { Context } from "#lib/services/approvals/context";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { maskAddress } from "./chat";

/*
 * The keys of an endpoint: a secret for `v1` and a seed for `v1a`, of its own, never the service's. They sign, so a hash
 * of them would not do: they are stored sealed under a key derived from AUTH_SECRET, bound to their endpoint.
 */

export interface EndpointKeys {
  /** 32 bytes. */
  secret: Uint8Array;
  /** The private key of RFC 8032, 32 bytes. */
  seed: Uint8Array;
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

type Sealing = Pick<Context, "secrets" | "random">;

function makeKeys({ random }: Pick<Context, "random">): EndpointKeys {
  return { secret: random(keyBytes), seed: random(keyBytes) };
}

/** nonce ‖ ciphertext ‖ tag */
function sealKeys({ secrets, random }: Sealing, endpointId: string, keys: EndpointKeys): Uint8Array {
  const nonce = random(nonceBytes);
  const cipher = createCipheriv(algorithm, secrets.webhookKeys, nonce).setAAD(Buffer.from(endpointId));
  return new Uint8Array(
    Buffer.concat([
      nonce,
      cipher.update(keys.secret),
      cipher.update(keys.seed),
      cipher.final(),
      cipher.getAuthTag(),
    ]),
  );
}

/** AUTH_SECRET is another one than they were sealed under. */
export class UnreadableKeys extends AppError {
  constructor(cause: unknown) {
    super("server_error", "the keys of a webhook endpoint cannot be read", { cause });
  }
}

/** Throws {@link UnreadableKeys}. */
export function openKeys(
  { secrets }: Pick<Context, "secrets">,
  endpointId: string,
  sealed: Uint8Array,
): EndpointKeys {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, secrets.webhookKeys, nonce).setAAD(Buffer.from(endpointId));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const opened = Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
    return {
      secret: new Uint8Array(opened.subarray(0, keyBytes)),
      seed: new Uint8Array(opened.subarray(keyBytes)),
    };
  } catch (cause) {
    throw new UnreadableKeys(cause);
  }
}

export const revealSecret = ({ secret }: EndpointKeys): string => writeSecret(secret);
const revealPublicKey = ({ seed }: EndpointKeys): string => writePublicKey(derivePublicKey(seed));

/** The list of the header `webhook-signature`: both signatures of each pair of keys. */
export function signMessage(message: WebhookMessage, all: readonly EndpointKeys[]): string {
  return all
    .flatMap(({ secret, seed }) => [signWithSecret(message, secret), signWithSeed(message, seed)])
    .join(" ");
}

export type EndpointRow = typeof webhookEndpoints.$inferSelect;

const maxEndpoints = 20;

export const webhookNotFound = () => new AppError("not_found", "no webhook endpoint has this id");

/** Null if the keys can't be read any more: the endpoint is still shown, so that they can be rotated. */
function readPublicKey(context: Context, id: string, sealed: Uint8Array): string | null {
  try {
    return revealPublicKey(openKeys(context, id, sealed));
  } catch (error) {
    if (error instanceof UnreadableKeys) return null;
    throw error;
  }
}

export function describeEndpoint(context: Context, row: EndpointRow): Webhook {
  const { id, url, disabled_reason, old_keys_until } = row;
  if (row.keys === null) throw new Error("a webhook endpoint is shown before it has keys");
  const isOverlapping = old_keys_until !== null && old_keys_until > context.clock();
  return {
    id,
    url: shownAddress(row, url),
    events: row.events as WebhookEvent[],
    format: row.format,
    shows_facts: row.shows_facts,
    enabled: row.disabled_at === null,
    disabled_reason,
    failing_since: row.failing_since?.toISOString() ?? null,
    public_key: readPublicKey(context, id, row.keys),
    old_keys_until: isOverlapping ? old_keys_until.toISOString() : null,
    created_at: row.created_at.toISOString(),
  };
}

/** The address of a chat is a secret. */
export function shownAddress({ format }: Pick<EndpointRow, "format">, url: string | null): string | null {
  return url === null || format === "standard" ? url : maskAddress(url);
}

async function auditEndpoint(
  context: Context,
  tx: Executor,
  principal: Principal,
  action: string,
  row: EndpointRow,
  detail: JsonObject = {},
): Promise<void> {
  await recordAct(context, tx, principal, {
    action: `webhook.${action}`,
    subject: row.id,
    detail: { url: shownAddress(row, row.url), ...detail },
  });
}

/** Finds an endpoint of the organization: any other is 404. */
export async function findOwn(
  tx: Executor,
  { organizationId }: Principal,
  id: string,
  lock: "share" | "update" | null = null,
) {
  if (!isUuid(id)) throw webhookNotFound();
  const query = tx
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.organization_id, organizationId)));
  const [row] = await (lock === null ? query : query.for(lock));
  if (!row) throw webhookNotFound();
  return row;
}

/** The trigger that first needs the callbacks' endpoint makes it without keys. */
export async function giveKeys(context: Context, row: EndpointRow): Promise<EndpointRow> {
  if (row.keys !== null) return row;
  const { db } = context.database;
  await db
    .update(webhookEndpoints)
    .set({ keys: sealKeys(context, row.id, makeKeys(context)) })
    .where(and(eq(webhookEndpoints.id, row.id), isNull(webhookEndpoints.keys)));
  const [given] = await db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, row.id));
  if (!given) throw webhookNotFound();
  return given;
}

export async function readEndpoint(context: Context, principal: Principal, id: string): Promise<EndpointRow> {
  return giveKeys(context, await findOwn(context.database.db, principal, id));
}

/** Oldest first; the callbacks have a page of their own. */
export async function listEndpoints(context: Context, { organizationId }: Principal): Promise<Webhook[]> {
  const rows = await context.database.db
    .select()
    .from(webhookEndpoints)
    .where(
      and(eq(webhookEndpoints.organization_id, organizationId), sql`${webhookEndpoints.url} IS NOT NULL`),
    )
    .orderBy(asc(webhookEndpoints.created_at), asc(webhookEndpoints.id));
  return rows.map((row) => describeEndpoint(context, row));
}

export async function readCallbacks(context: Context, { organizationId }: Principal): Promise<EndpointRow> {
  const { db } = context.database;
  const id = uuidV7(context.clock().getTime(), context.random(16));
  await db
    .insert(webhookEndpoints)
    .values({ id, organization_id: organizationId, events: [] })
    .onConflictDoNothing();
  const [row] = await db
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organization_id, organizationId), isNull(webhookEndpoints.url)));
  if (!row) throw webhookNotFound();
  return giveKeys(context, row);
}

export async function createEndpoint(
  context: Context,
  principal: Principal,
  { url, events, format, shows_facts }: CreateWebhookBody,
): Promise<WebhookWithSecret> {
  requireReceiver(context, "url", url);
  const { organizationId } = principal;
  const createdAt = context.clock();
  const id = uuidV7(createdAt.getTime(), context.random(16));
  const keys = makeKeys(context);
  const values = {
    id,
    organization_id: organizationId,
    url,
    events,
    format: format ?? "standard",
    shows_facts: shows_facts ?? true,
    keys: sealKeys(context, id, keys),
  };
  const row = await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await lockAndRecheckKey(tx, principal, "operate");
    const { organization_id } = webhookEndpoints;
    const present = await tx.$count(
      webhookEndpoints,
      and(eq(organization_id, organizationId), isNotNull(webhookEndpoints.url)),
    );
    if (present >= maxEndpoints)
      throw new AppError("too_many_webhooks", `an organization can have ${maxEndpoints} webhook endpoints`);
    const [made] = await tx
      .insert(webhookEndpoints)
      .values({ ...values, created_at: createdAt })
      .returning();
    if (!made) throw new Error("an endpoint was stored and is not there");
    await auditEndpoint(context, tx, principal, "created", made, { events });
    return made;
  });
  return { ...describeEndpoint(context, row), secret: revealSecret(keys) };
}

/** Fails deliveries that wait for a disabled endpoint; they stay in the list and can be replayed. */
export async function failWaiting(tx: Executor, endpointId: string): Promise<void> {
  const { endpoint_id, status } = webhookDeliveries;
  await tx
    .update(webhookDeliveries)
    .set({ status: "failed", last_problem: "the endpoint was disabled" })
    .where(and(eq(endpoint_id, endpointId), eq(status, "pending")));
}

function buildChanges(
  context: Context,
  row: EndpointRow,
  { url, events, enabled, shows_facts }: UpdateWebhookBody,
) {
  const isEnabled = row.disabled_at === null;
  return {
    ...(typeof url === "string" && { url, failing_since: null }),
    ...(Array.isArray(events) && { events }),
    ...(typeof shows_facts === "boolean" && { shows_facts }),
    ...(enabled === true && !isEnabled && { disabled_at: null, disabled_reason: null, failing_since: null }),
    ...(enabled === false &&
      isEnabled && { disabled_at: context.clock(), disabled_reason: "owner" as const }),
  };
}

export async function updateEndpoint(
  context: Context,
  principal: Principal,
  id: string,
  wish: UpdateWebhookBody,
): Promise<Webhook> {
  requireReceiver(context, "url", wish.url);
  await readEndpoint(context, principal, id);
  return context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const row = await findOwn(tx, principal, id, "update");
    if (row.url === null && (wish.url ?? wish.events) != null)
      throw fieldError("validation_error", "url", "each request names its own, and its end is its event");
    const changes = buildChanges(context, row, wish);
    if (Object.keys(changes).length === 0) return describeEndpoint(context, row);
    const [changed] = await tx
      .update(webhookEndpoints)
      .set(changes)
      .where(eq(webhookEndpoints.id, id))
      .returning();
    if (!changed) throw webhookNotFound();
    // Fails messages on enabling too: what was written just as it was disabled was not failed then.
    if (changes.disabled_at !== undefined) await failWaiting(tx, id);
    const { events, disabled_at } = changed;
    await auditEndpoint(context, tx, principal, "updated", changed, {
      events,
      enabled: disabled_at === null,
    });
    return describeEndpoint(context, changed);
  });
}

/** Removes an organization's with what waits for them: addresses of chats and keys are secrets. */
export async function removeEndpoints(tx: Executor, organizationId: string): Promise<void> {
  const isOwn = eq(webhookEndpoints.organization_id, organizationId);
  const ids = tx.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(isOwn);
  await tx.delete(webhookDeliveries).where(inArray(webhookDeliveries.endpoint_id, ids));
  await tx.delete(webhookEndpoints).where(isOwn);
}

export async function deleteEndpoint(context: Context, principal: Principal, id: string): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const row = await findOwn(tx, principal, id, "update");
    await tx.delete(webhookDeliveries).where(eq(webhookDeliveries.endpoint_id, id));
    await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id));
    await auditEndpoint(context, tx, principal, "deleted", row);
  });
}

/* New keys for an endpoint. */

const hourMs = 3_600_000;

/** The keys so far sign as well until the overlap ends; those of an overlap that was still running do no more. */
export async function rotateEndpoint(
  context: Context,
  principal: Principal,
  id: string,
  overlapHours: number,
): Promise<WebhookWithSecret> {
  const keys = makeKeys(context);
  const until = new Date(context.clock().getTime() + overlapHours * hourMs);
  const row = await context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "operate");
    const before = await findOwn(tx, principal, id, "update");
    // Keys that can't be read sign nothing: they would only keep the new ones from signing.
    const isReadable = before.keys !== null && readPublicKey(context, id, before.keys) !== null;
    const kept = overlapHours === 0 || !isReadable ? null : before.keys;
    const [changed] = await tx
      .update(webhookEndpoints)
      .set({
        keys: sealKeys(context, id, keys),
        old_keys: kept,
        old_keys_until: kept === null ? null : until,
      })
      .where(eq(webhookEndpoints.id, id))
      .returning();
    if (!changed) throw webhookNotFound();
    await auditEndpoint(context, tx, principal, "rotated", changed, { overlap_hours: overlapHours });
    return changed;
  });
  return { ...describeEndpoint(context, row), secret: revealSecret(keys) };
}
