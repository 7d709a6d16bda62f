/**
 * The confirmation code, and number matching: with `require_code` it is a secret of the service and the agent's side,
 * which the approval page asks for and never shows, so that a link that leaks decides nothing.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import { maxWrongCodes } from "#lib/api/schemas/approval-page";
import { authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { confirmationCode, formatConfirmationCode } from "#lib/protocol/approval/approval";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "#lib/services/accounts/audit";
import type { Context } from "#lib/services/approvals/context";
import { type AuthorizationRow, isOpen } from "#lib/services/approvals/rows";
import { notPending } from "./store";

/** Never stored: derived again wherever the agent's side may see it. */
export function secretCode(context: Context, requestId: string): string {
  const mac = createHmac("sha256", context.secrets.approvalLink).update(`confirmation-code:${requestId}`);
  return formatConfirmationCode(mac.digest());
}

/**
 * Derives the code. Without `require_code` it follows from the request, so that the browser computes it from what it shows.
 * With it, a request that an approver changed keeps the code that its operator has.
 */
export function deriveCode(
  context: Context,
  {
    id,
    request_hash,
    require_code,
    amends,
  }: Pick<AuthorizationRow, "id" | "request_hash" | "require_code"> & {
    amends?: string | null;
  },
): string {
  return require_code ? secretCode(context, amends ?? id) : confirmationCode(hexEncode(request_hash));
}

function isSameCode(expected: string, given: string): boolean {
  const [one, other] = [expected, given].map((code) => Buffer.from(code.toUpperCase().replace(/[\s-]/g, "")));
  return (
    one !== undefined && other !== undefined && one.length === other.length && timingSafeEqual(one, other)
  );
}

/**
 * Counts wrong codes, this one included; null if it is right. One at a time, under the row's lock. `isStill`: what the request
 * must still be, if what follows doesn't check.
 */
async function judgeCode(
  context: Context,
  row: AuthorizationRow,
  given: string,
  actor: Actor,
  isStill?: SQL,
): Promise<number | null> {
  return context.database.db.transaction(async (tx) => {
    const { id, wrong_codes } = authorizationRequests;
    const [before] = await tx
      .select({ count: wrong_codes })
      .from(authorizationRequests)
      .where(and(eq(id, row.id), isStill))
      .for("update");
    if (before === undefined) throw notPending();
    if (before.count >= maxWrongCodes) return maxWrongCodes;
    if (isSameCode(deriveCode(context, row), given)) return null;
    await tx
      .update(authorizationRequests)
      .set({ wrong_codes: sql`${wrong_codes} + 1` })
      .where(eq(id, row.id));
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor,
      action: "authorization.wrong_code",
      subject: row.id,
    });
    return before.count + 1;
  });
}

function requireTyped(given: string | null | undefined): string {
  if (given?.trim()) return given;
  throw new AppError(
    "validation_error",
    "code: enter the confirmation code that the agent showed its operator",
  );
}

function wrongCode(count: number): AppError {
  const left = maxWrongCodes - count;
  return new AppError(
    "confirmation_code_wrong",
    `this is not the confirmation code; ${left === 1 ? "one try is" : `${left} tries are`} left`,
  );
}

/** Throws unless the code is right, or none is asked for. `cancel` ends the request after too many wrong ones. */
export async function requireCode(
  context: Context,
  row: AuthorizationRow,
  given: string | null | undefined,
  { actor, cancel }: { actor: Actor; cancel: () => Promise<void> },
): Promise<void> {
  if (!row.require_code) return;
  const wrong = await judgeCode(context, row, requireTyped(given), actor, isOpen);
  if (wrong === null) return;
  if (wrong < maxWrongCodes) throw wrongCode(wrong);
  await cancel();
  throw notPending("was cancelled after five wrong confirmation codes");
}

/** The same once it is approved. Its wrong codes go on counting, and after the last one the link takes nothing back. */
export async function requireCodeToRevoke(
  context: Context,
  row: AuthorizationRow,
  given: string | null | undefined,
  actor: Actor,
): Promise<void> {
  if (!row.require_code) return;
  const wrong = await judgeCode(context, row, requireTyped(given), actor);
  if (wrong !== null) throw wrongCode(wrong);
}
