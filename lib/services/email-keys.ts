/**
 * API keys by e-mail verification (api.md section 8). One live code an address, stored as HMAC; 5 wrong tries
 * void it, 10 on one UTC day end the address's tries until the next. Each try is counted before it is judged,
 * in one statement, so that parallel tries cannot get more.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { and, eq, gt, lt, sql } from "drizzle-orm";
import { emailCodeFailures, emailCodes } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { allScopes, createApiKey, utcDay } from "./api-keys";
import type { Context } from "./context";
import { findOrCreateOrganization } from "./organizations";

const codeLifetimeMs = 600_000;
const maxTries = 5;
const maxFailuresPerDay = 10;

function hmacOf(context: Context, email: string, code: string): Uint8Array {
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
export async function requestKeyByEmail(context: Context, email: string, name: string | null): Promise<void> {
  const code = createCode(context.random);
  const now = context.clock();
  const row = {
    code_hmac: hmacOf(context, email, code),
    name,
    tries: 0,
    created_at: now,
    expires_at: new Date(now.getTime() + codeLifetimeMs),
  };
  await context.database.db
    .insert(emailCodes)
    .values({ email, ...row })
    .onConflictDoUpdate({ target: emailCodes.email, set: row });
  await context.mailer.send({
    to: email,
    subject: `${code} is your Countersign code`,
    text: `Your code is ${code}. It is good for 10 minutes.\n\nSend it to POST ${context.settings.baseUrl}/v1/keys/verify to get your API key.\n\nIf you did not ask for it, ignore this mail.\n`,
    html: `<p>Your code is <strong>${code}</strong>. It is good for 10 minutes.</p><p>Send it to <code>POST ${context.settings.baseUrl}/v1/keys/verify</code> to get your API key.</p><p>If you did not ask for it, ignore this mail.</p>`,
  });
}

const invalidCode = () => new AppError("invalid_code", "the code is wrong or has expired; ask for a new one");

async function failuresToday(context: Context, email: string): Promise<number> {
  const [row] = await context.database.db
    .select({ failures: emailCodeFailures.failures })
    .from(emailCodeFailures)
    .where(and(eq(emailCodeFailures.email, email), eq(emailCodeFailures.day, utcDay(context.clock()))));
  return row?.failures ?? 0;
}

async function recordFailure(context: Context, email: string): Promise<void> {
  await context.database.db
    .insert(emailCodeFailures)
    .values({ email, day: utcDay(context.clock()), failures: 1 })
    .onConflictDoUpdate({
      target: [emailCodeFailures.email, emailCodeFailures.day],
      set: { failures: sql`${emailCodeFailures.failures} + 1` },
    });
}

/** Counts the try, then judges it. Consumes the code when it is right. */
async function consumeCode(context: Context, email: string, code: string): Promise<{ name: string | null }> {
  const { db } = context.database;
  if ((await failuresToday(context, email)) >= maxFailuresPerDay) throw invalidCode();
  const [row] = await db
    .update(emailCodes)
    .set({ tries: sql`${emailCodes.tries} + 1` })
    .where(
      and(eq(emailCodes.email, email), lt(emailCodes.tries, maxTries), gt(emailCodes.expires_at, sql`now()`)),
    )
    .returning();
  if (!row) throw invalidCode();
  if (!timingSafeEqual(row.code_hmac, hmacOf(context, email, code))) {
    await recordFailure(context, email);
    throw invalidCode();
  }
  const consumed = await db
    .delete(emailCodes)
    .where(and(eq(emailCodes.email, email), eq(emailCodes.code_hmac, row.code_hmac)))
    .returning({ email: emailCodes.email });
  if (consumed.length === 0) throw invalidCode();
  return { name: row.name };
}

export async function verifyKeyByEmail(context: Context, email: string, code: string, ip: string) {
  const { name } = await consumeCode(context, email, code);
  return context.database.db.transaction(async (tx) => {
    const { organizationId } = await findOrCreateOrganization(context, tx, email);
    const keyName = name ?? "API key";
    const key = await createApiKey(context, tx, {
      organizationId,
      name: keyName,
      email,
      scopes: allScopes,
      expiresAt: null,
      actor: { kind: "user", id: email, ip },
    });
    return {
      api_key: key.text,
      key_id: key.id,
      name: keyName,
      email,
      created_at: key.createdAt.toISOString(),
    };
  });
}
