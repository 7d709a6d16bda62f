/**
 * Operations of API keys (docs/wire.md, API keys), and keys by email. An address has one live code, stored as HMAC. 5 wrong tries void it,
 * and after 10 on one UTC day no code for the address works until the next.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { and, eq, gt, lt, sql } from "drizzle-orm";
import { enforceLimit, type Handlers, keyRequestAddressPolicy } from "#lib/api/http/pipeline";
import type { keysOperations as specs } from "#lib/api/operations/agents";
import { usualScopes } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { emailCodeFailures, emailCodes } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { AccountsContext } from "#lib/services/accounts/context";
import { signUpClosedMail } from "#lib/services/accounts/mails";
import { requireRole } from "#lib/services/accounts/members";
import { findOrCreateOrganization, mayGetKey } from "#lib/services/accounts/organizations";
import { createApiKey, describeApiKey, revokeApiKey, utcDay } from "./api-keys";

const codeLifetimeSeconds = 600;
const maxTries = 5;
const maxFailuresPerDay = 10;

function computeHmac(context: AccountsContext, email: string, code: string): Uint8Array {
  return createHmac("sha256", context.secrets.emailCode).update(`${email}\n${code}`).digest();
}

/** Six digits, each of the million equally likely. */
function createCode(random: (length: number) => Uint8Array): string {
  for (;;) {
    const value = Buffer.from(random(4)).readUInt32BE();
    if (value < 4_294_000_000) return String(value % 1_000_000).padStart(6, "0");
  }
}

/** The same whether or not the address is known. */
export async function requestKeyByEmail(
  context: AccountsContext,
  email: string,
  name: string | null,
): Promise<void> {
  const { db } = context.database;
  if (!(await mayGetKey(context, db, email)))
    return context.mailer.send(signUpClosedMail(email, context.settings.baseUrl));
  const code = createCode(context.random);
  const row = {
    code_hmac: computeHmac(context, email, code),
    name,
    tries: 0,
    created_at: context.clock(),
    // Set by the clock that it will be compared with.
    expires_at: sql`now() + make_interval(secs => ${codeLifetimeSeconds})`,
  };
  await db
    .insert(emailCodes)
    .values({ email, ...row })
    .onConflictDoUpdate({ target: emailCodes.email, set: row });
  await context.mailer.send({
    to: email,
    subject: `${code} is your Countersign code`,
    text: `Your code is ${code}. It expires in 10 minutes.\n\nSend it to POST ${context.settings.baseUrl}/v1/keys/verify to get your API key.\n\nIf you didn't request it, ignore this email.\n`,
    html: `<p>Your code is <strong>${code}</strong>. It expires in 10 minutes.</p><p>Send it to <code>POST ${context.settings.baseUrl}/v1/keys/verify</code> to get your API key.</p><p>If you didn't request it, ignore this email.</p>`,
  });
}

async function countFailure(context: AccountsContext, tx: Executor, email: string): Promise<void> {
  await tx
    .insert(emailCodeFailures)
    .values({ email, day: utcDay(context.clock()), failures: 1 })
    .onConflictDoUpdate({
      target: [emailCodeFailures.email, emailCodeFailures.day],
      set: { failures: sql`${emailCodeFailures.failures} + 1` },
    });
}

async function hasTriesLeft(context: AccountsContext, tx: Executor, email: string): Promise<boolean> {
  const [row] = await tx
    .select({ failures: emailCodeFailures.failures })
    .from(emailCodeFailures)
    .where(and(eq(emailCodeFailures.email, email), eq(emailCodeFailures.day, utcDay(context.clock()))));
  return (row?.failures ?? 0) < maxFailuresPerDay;
}

/**
 * Consumes a code in one transaction: counting the try locks its row, so tries of one address queue up and none is judged
 * beyond the counts. Null for a wrong try; throwing would take the count back.
 */
async function consumeCode(
  context: AccountsContext,
  tx: Executor,
  email: string,
  code: string,
): Promise<{ name: string | null } | null> {
  const [row] = await tx
    .update(emailCodes)
    .set({ tries: sql`${emailCodes.tries} + 1` })
    .where(
      and(eq(emailCodes.email, email), lt(emailCodes.tries, maxTries), gt(emailCodes.expires_at, sql`now()`)),
    )
    .returning();
  if (!row || !(await hasTriesLeft(context, tx, email))) return null;
  if (!timingSafeEqual(row.code_hmac, computeHmac(context, email, code))) {
    await countFailure(context, tx, email);
    return null;
  }
  await tx.delete(emailCodes).where(eq(emailCodes.email, email));
  return { name: row.name };
}

export async function verifyKeyByEmail(context: AccountsContext, email: string, code: string, ip: string) {
  const made = await context.database.db.transaction(async (tx) => {
    const consumed = await consumeCode(context, tx, email, code);
    if (consumed === null || !(await mayGetKey(context, tx, email))) return null;
    return createKey(context, tx, email, consumed.name ?? "API key", ip);
  });
  if (made === null)
    throw new AppError("invalid_code", "the code is wrong or has expired; request a new one");
  return made;
}

async function createKey(context: AccountsContext, tx: Executor, email: string, name: string, ip: string) {
  const { organizationId, userId } = await findOrCreateOrganization(context, tx, email);
  await requireRole(tx, { kind: "user", userId, email, ip, session: "", organizationId }, "operate");
  const key = await createApiKey(context, tx, {
    organizationId,
    name,
    email,
    scopes: usualScopes,
    expiresAt: null,
    actor: { kind: "user", id: email, ip },
  });
  return {
    api_key: key.text,
    key_id: key.id,
    name,
    email,
    created_at: key.createdAt.toISOString(),
    default_visibility: key.defaultVisibility,
  };
}

/** A mailbox alone must not open what the company's provider guards. */
function requireMailedKeys({ settings }: AccountsContext): void {
  if (settings.OIDC_ENFORCED === "on")
    throw new AppError(
      "forbidden",
      "keys by email are off on this service: sign in to the portal with your company account, and create one there",
    );
}

export const keysHandlers: Handlers<typeof specs, AccountsContext> = {
  requestKey: async ({ context, body }) => {
    requireMailedKeys(context);
    const headers = await enforceLimit(context, keyRequestAddressPolicy(context.settings), body.email);
    await requestKeyByEmail(context, body.email, body.name ?? null);
    return {
      body: { message: "If this address can receive mail, a code is on its way.", expires_in: 600 },
      headers,
    };
  },
  verifyKey: async ({ context, body, ip }) => {
    requireMailedKeys(context);
    return { status: 201, body: await verifyKeyByEmail(context, body.email, body.code, ip) };
  },
  keyInfo: async (call) => ({ body: await describeApiKey(call.context, call.principal) }),
  deleteKey: async (call) => {
    const principal = call.principal;
    const { keyId } = principal;
    await revokeApiKey(call.context, principal, keyId);
    return { body: { message: "The key is deleted and no longer works.", key_id: keyId } };
  },
};
