/** New keys for an endpoint. */
import { eq } from "drizzle-orm";
import type { Principal } from "#lib/api/http/principal";
import type { WebhookWithSecret } from "#lib/api/schemas/webhooks";
import { webhookEndpoints } from "#lib/db/schema";
import type { Context } from "#lib/services/approvals/context";
import { holdCaller } from "#lib/services/keys/hold-caller";
import { auditEndpoint, describeEndpoint, findOwn, readPublicKey, webhookNotFound } from "./endpoints";
import { makeKeys, sealKeys, secretOf } from "./keys";

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
    await holdCaller(tx, principal);
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
  return { ...describeEndpoint(context, row), secret: secretOf(keys) };
}
